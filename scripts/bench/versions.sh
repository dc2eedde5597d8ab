#!/usr/bin/env bash
# Compares the processor time of two builds of heaplapse on the fixtures, command by command. The
# builds take turns, so that a change of the machine's speed affects both.
#
# Usage: versions.sh OLD NEW [RUNS]      OLD and NEW are programs; 15 RUNS each by default
#
# It prints a Markdown table with the medians in seconds and the ratio of the sums.
set -euo pipefail
cd "$(dirname "$0")/../.."
old=$(realpath "$1") new=$(realpath "$2") runs=${3:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'

# seconds PROGRAM ARG... prints the processor time of a run.
seconds() {
	{ time "$@" >"$work/out" 2>"$work/err" || [ $? -le 1 ]; } 2>&1 | awk '{print $1 + $2}'
}

# median FILE prints the median of the lines of a file.
median() {
	sort -n "$1" | awk '{v[NR] = $1} END {printf "%.3f", v[int((NR + 1) / 2)]}'
}

# compare NAME ARG... measures a command and prints a row.
compare() {
	local name=$1 i
	shift
	rm -f "$work"/times.*
	for ((i = 0; i <= runs; i++)); do
		for program in old new; do
			rm -rf "$work/dir"
			t=$(seconds "${!program}" "$@")
			[ "$i" = 0 ] || echo "$t" >>"$work/times.$program" # the first run fills caches
		done
	done
	printf '| %s | %s | %s | %s |\n' "$name" "$(median "$work/times.old")" "$(median "$work/times.new")" \
		"$(paste "$work/times.old" "$work/times.new" | awk '{a += $1; b += $2} END {printf "%.2f", b / a}')"
}

files=(--no-cache --sysroot)
echo '| command | old | new | ratio |'
echo '|---|---|---|---|'
for series in leaky node python; do
	compare "\`growth\` $series" growth "testdata/$series" "${files[@]}" "testdata/$series/sysroot"
done
compare '`growth --group-by stack` python' growth testdata/python --group-by stack "${files[@]}" testdata/python/sysroot
compare '`info` python' info testdata/python
compare '`top` python' top testdata/python "${files[@]}" testdata/python/sysroot
compare '`diff` python' diff testdata/python/python.0002.heap.gz testdata/python/python.0012.heap.gz "${files[@]}" testdata/python/sysroot
compare '`convert` python' convert testdata/python "${files[@]}" testdata/python/sysroot -o "$work/dir"
compare '`report` python' report testdata/python "${files[@]}" testdata/python/sysroot -o "$work/report.html"
compare '`bundle` node' bundle testdata/node --sysroot testdata/node/sysroot -o "$work/node.tar.zst"
compare '`gate` leaky' gate --baseline 'testdata/leaky/leaky.000?.heap.gz' --current 'testdata/leaky/leaky.00[12]?.heap.gz' "${files[@]}" testdata/leaky/sysroot
compare '`baseline save` python' baseline save "$work/dir" testdata/python "${files[@]}" testdata/python/sysroot
