#!/usr/bin/env bash
# Fits the model of diff/trend again: simulates processes, and fits decision trees to their functions.
# Writes diff/trend/model.txt and diff/trend/testdata/model_cases.txt, and prints duration and memory.
# Usage: fit.sh DIR [EXAMPLES…]. DIR holds the examples; files of examples that exist are used instead of a
# simulation.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:?usage: fit.sh DIR [EXAMPLES…]}
shift

# The seeds of the fit. 129-160 (wide: 49-60, small: 129-192, traced: 129-160, collected: 129-140) and those from
# 50001 to 59999 chose features, parameters and the threshold, those from 100000 on evaluate: none is used here.
simulate=(leakbench -seeds 2001-2504 -wide-seeds 2001-2280 -small-seeds 2001-4000 -traced-seeds 2001-2300
	-collected-seeds 2001-2300 -snapshots 8,12,24,48)

venv=$(scripts/venv.sh model -r scripts/model/requirements.txt)
mkdir -p "$dir"
if [ $# -eq 0 ]; then
	go build -C scripts -o "$(realpath "$dir")/" ./leakbench
	TIMEFORMAT='simulated in %R s, with %U s of processor time and %S s of the kernel'
	time "$dir/${simulate[0]}" "${simulate[@]:1}" -peer-seeds "" -examples "$dir/examples.txt" -o /dev/null
	set -- "$dir/examples.txt"
fi
"$venv/bin/python" scripts/model/train.py "$@" --made-by "${simulate[*]}" \
	--cases diff/trend/testdata/model_cases.txt -o diff/trend/model.txt
