#!/usr/bin/env bash
# Measures snapshots of 20,000 stacks by the built-in engine: the processor time of the thread that
# writes one, its size, and how long the calls of malloc and free take in 1, 2 and 4 threads: without
# the engine, with it but without snapshots, and with a snapshot every 100 ms at most. The engine
# records every call, so that each of them needs the lock that a snapshot takes. Needs gcc; tcmalloc,
# if it is there, shows its size for the same stacks.
# Usage: stacks.sh WORKDIR [RUNS]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: stacks.sh WORKDIR [RUNS]}
mkdir -p "$work"
work=$(cd "$work" && pwd)
engine=$PWD/engine/heaplapse-$(uname -m).so
gcc -O1 -pthread -o "$work/paths" engine/testdata/paths.c

go build -C scripts -o "$work/receive" ./bench/receive
coproc receiver { "$work/receive" "$work/out"; }
read -r settings <&"${receiver[0]}"

# record SETTINGS ARGUMENT… runs the program under the engine, and waits until everything is received.
record() {
	rm -f "$work"/out*
	LD_PRELOAD=$engine HEAPLAPSE_ENGINE="$1 children=0 main=0000000 $settings" "$work/paths" "${@:2}"
	sleep 0.5
}

echo "a snapshot: processor time"
for ((i = 0; i < ${2:-7}; i++)); do
	record "period=1 every=0" 20000
	grep -ho '"cpu_ms":[0-9.]*,"sites":[0-9]*' "$work"/out.*.events.jsonl
done | sort
echo "its bytes, and compressed as record does it (gzip, level 3)"
wc -c <"$(compgen -G "$work/out_*.heap")"
gzip -3 -c "$work"/out_*.heap | wc -c
tcmalloc=$(compgen -G '/usr/lib/*/libtcmalloc.so.4' || true)
if [ -n "$tcmalloc" ]; then
	echo "tcmalloc: bytes of its snapshot, and stacks in it"
	HEAPPROFILE=$work/out_tcmalloc LD_PRELOAD=$tcmalloc "$work/paths" 20000 2>/dev/null
	wc -c <"$work/out_tcmalloc.0001.heap"
	grep -c ' @ 0x' "$work/out_tcmalloc.0001.heap"
fi
for threads in 1 2 4; do
	echo "10 s of calls in $threads threads: without the engine, three times"
	for _ in 1 2 3; do "$work/paths" 20000 10 "$threads"; done
	echo "with the engine, without snapshots"
	for _ in 1 2 3; do record "period=1 every=0" 20000 10 "$threads"; done
	echo "with snapshots: their number, their processor time"
	for _ in 1 2 3; do
		record "period=1 every=100 part=0" 20000 10 "$threads"
		grep -ho '"trigger":"time".*"cpu_ms":[0-9.]*' "$work"/out.*.events.jsonl |
			awk -F: '{n++; sum += $NF; if ($NF > most) most = $NF} END {printf "%d, %.1f ms in all, %.1f ms at most\n", n, sum, most}'
	done
done
