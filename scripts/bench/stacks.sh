#!/usr/bin/env bash
# Measures a snapshot of 20,000 stacks by the built-in engine: the processor time of the thread that
# writes it, and its size. Needs gcc.
# Usage: stacks.sh WORKDIR [RUNS]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: stacks.sh WORKDIR [RUNS]}
mkdir -p "$work"
work=$(cd "$work" && pwd)
engine=$PWD/internal/record/preload/heaplapse-$(uname -m).so
gcc -O1 -o "$work/stacks" scripts/bench/stacks.c
for ((i = 0; i < ${2:-7}; i++)); do
	rm -f "$work"/out*
	LD_PRELOAD=$engine HEAPLAPSE_ENGINE="period=1 every=0 children=0 main=0000000 prefix=$work/out" "$work/stacks"
	grep -ho '"cpu_ms":[0-9.]*,"sites":[0-9]*' "$work"/out.*.events.jsonl
done | sort
wc -c "$work"/out_*.heap
gzip -1 -c "$work"/out_*.heap | wc -c
