#!/usr/bin/env bash
# Measures what a look at what holds the memory costs, for the table in docs/holders.md: for how long the threads of a
# program with N blocks are stopped, and the time and the memory that heaplapse takes. Run it on an idle machine.
# Usage: holders.sh WORKDIR [RUNS]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: holders.sh WORKDIR [RUNS]}
runs=${2:-3}
mkdir -p "$work"
work=$(cd "$work" && pwd)
go build -o "$work/heaplapse" ./cmd/heaplapse
g++ -O1 -g -o "$work/blocks" scripts/bench/blocks.cc
echo "| blocks | resident | threads stopped | whole time | memory |"
echo "|---|---|---|---|---|"
for n in 500000 5000000 20000000; do
	"$work/blocks" "$n" >"$work/ready" &
	pid=$!
	until [ -s "$work/ready" ]; do sleep 0.1; done
	for _ in $(seq "$runs"); do
		/usr/bin/time -f '%e %M' -o "$work/time" "$work/heaplapse" holders "$pid" --top 1 --format json >"$work/look"
		stopped=$(awk -F'[:,]' '/"stopped_ns"/ {printf "%.1f", $2 / 1e6}' "$work/look")
		resident=$(awk '/VmRSS/ {print int($2/1024)}' "/proc/$pid/status")
		read -r seconds memory <"$work/time"
		echo "| $n | $resident MiB | $stopped ms | $seconds s | $((memory / 1024)) MiB |"
	done
	kill "$pid"
	wait "$pid" 2>/dev/null || true
	: >"$work/ready"
done
