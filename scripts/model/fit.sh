#!/usr/bin/env bash
# Fits the models of diff/trend again: simulates processes, and fits decision trees to their functions. That of births
# corrects the other one, which is fitted first.
# Writes model.txt and births.txt in diff/trend, and cases for their test, and prints duration and memory.
# Usage: fit.sh [--births] DIR [EXAMPLES…]. DIR holds the examples; files of examples that exist are used instead of a
# simulation. --births fits only the model of births, which is enough if the other one did not change.
set -euo pipefail
cd "$(dirname "$0")/../.."
births=
if [ "${1:-}" = --births ]; then
	births=1
	shift
fi
dir=${1:?usage: fit.sh [--births] DIR [EXAMPLES…]}
shift

# The seeds of the fit. 129-160 (wide: 49-60, small: 129-192, traced: 129-160, collected: 129-140) and those from
# 50001 to 59999 chose features, parameters and the threshold, those from 100000 on evaluate: none is used here. The
# model of births is fitted to other seeds than the one that it corrects, which knows its own too well.
simulate=(leakbench -seeds 2001-2504 -wide-seeds 2001-2280 -small-seeds 2001-4000 -traced-seeds 2001-2300
	-collected-seeds 2001-2300 -snapshots 8,12,24,48)
simulate_births=(leakbench -births -seeds 6001-6060 -wide-seeds 6001-6045 -small-seeds 6001-6240 -snapshots 8,12,24,48)

venv=$(scripts/venv.sh model -r scripts/model/requirements.txt)
mkdir -p "$dir"

# fit NAME EXAMPLES COMMAND…: writes diff/trend/NAME.txt, from examples that the command simulates if EXAMPLES is empty.
# Flags of train.py are in $flags.
fit() {
	local name=$1 examples=$2
	shift 2
	if [ -z "$examples" ]; then
		examples=$dir/$name-examples.txt
		go build -C scripts -o "$(realpath "$dir")/" ./leakbench
		TIMEFORMAT='simulated in %R s, with %U s of processor time and %S s of the kernel'
		time "$dir/$1" "${@:2}" -peer-seeds "" -examples "$examples" -o /dev/null
	fi
	# shellcheck disable=SC2086 # lists of words
	"$venv/bin/python" scripts/model/train.py $flags $examples --made-by "$*" \
		--cases "diff/trend/testdata/${name}_cases.txt" -o "diff/trend/$name.txt"
}

if [ -z "$births" ]; then
	flags='' fit model "$*" "${simulate[@]}"
	set --
fi
flags=--births fit births "$*" "${simulate_births[@]}"
