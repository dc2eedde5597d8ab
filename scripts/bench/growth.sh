#!/usr/bin/env bash
# Measures `heaplapse growth --no-cache`, including reading and symbolization, on 250, 500 and 1,000
# snapshots with 4,000 stacks of a C++ program with about 30 MB of debug information. The time
# should be linear in the number of rows.
#
# Usage: scripts/bench/growth.sh WORKDIR [OLD]
#
# OLD is another build of heaplapse, which takes turns with this one.
#
# WORKDIR is kept. It is shared with scripts/bench/convert.sh, which builds and records the program.
# It needs 4 GB of disk space.
#
# Environment, with defaults: SNAPSHOTS=1000 STACKS=4000 ROUNDS=3
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
snapshots=${SNAPSHOTS:-1000} stacks=${STACKS:-4000} rounds=${ROUNDS:-3}

. "$here/lib.sh"
[ $# -eq 1 ] || [ $# -eq 2 ] || die "usage: growth.sh WORKDIR [OLD]"
need go python3
mkdir -p "$1"
work=$(cd "$1" && pwd)
programs=("$repo/bin/heaplapse")
[ $# -eq 1 ] || programs=("$(realpath "$2")" "${programs[@]}")
compgen -G "$work/real/*.heap" >/dev/null || LOOP=1 ROUNDS=1 SNAPSHOTS=10 "$here/convert.sh" "$work" >/dev/null
make -s -C "$repo" build

# multiply makes a long series from one snapshot. Additional stacks are stacks of the snapshot
# without some of their outermost frames. The counts of each stack are constant, or follow a line, a
# saturating curve or a wave.
multiply() {
	rm -rf "$work/growth"
	mkdir "$work/growth"
	python3 - "$work/growth" "$snapshots" "$stacks" "$work"/real/*.heap <<-'PYTHON'
		import math, os, re, sys, zlib

		out, n, wanted, dumps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
		text = open(dumps[-1]).read()
		head, _, maps = text.partition("\nMAPPED_LIBRARIES:")
		rows = re.findall(r"^\s*(\d+):\s*(\d+) \[\s*\d+:\s*\d+\] @ (.+)$", head, re.M)
		stacks, seen = [], set()
		for cut in range(6):
		    for objects, size, stack in rows:
		        kept = tuple(stack.split()[: len(stack.split()) - cut])
		        if int(objects) and len(kept) > 3 and kept not in seen and len(stacks) < wanted:
		            seen.add(kept)
		            stacks.append((int(size) // int(objects), " ".join(kept), zlib.crc32(" ".join(kept).encode())))
		if len(stacks) < wanted:
		    sys.exit("the snapshot has too few stacks")
		for i in range(n):
		    x, lines, total = i / (n - 1), [], [0, 0, 0, 0]
		    for size, stack, h in stacks:
		        level = 20 + h % 50
		        live = [level, level + level * x, level * (1 - math.exp(-8 * x)), level * (1 + math.sin(40 * x + h)), level][h // 64 % 5]
		        live = int(live) + (h >> 8 ^ i * 2654435761) % 3
		        allocated = live + i * (h % 7)
		        counts = live, live * size, allocated, allocated * size
		        total = [a + b for a, b in zip(total, counts)]
		        lines.append((counts, stack))
		    lines.sort(key=lambda r: -r[0][1])
		    path = os.path.join(out, f"p.{i + 1:04d}.heap")
		    with open(path, "w") as f:
		        f.write("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n" % tuple(total))
		        f.writelines("%6d: %8d [%6d: %8d] @ %s\n" % (*c, s) for c, s in lines)
		        f.write("\nMAPPED_LIBRARIES:" + maps)
		    os.utime(path, (1.7e9 + 30 * i, 1.7e9 + 30 * i))
	PYTHON
}

[ "$(find "$work/growth" -name '*.heap' 2>/dev/null | wc -l)" = "$snapshots" ] || multiply
cat "$work"/growth/*.heap >/dev/null # into the page cache
printf '%9s %9s %6s %9s %9s %9s  %s\n' snapshots rows round "wall s" "CPU s" "peak MiB" program
for part in $((snapshots / 4)) $((snapshots / 2)) "$snapshots"; do
	dir=$work/growth-part
	rm -rf "$dir"
	mkdir "$dir"
	find "$work/growth" -name '*.heap' | sort | sed -n "1,${part}p" | xargs -I{} ln {} "$dir"
	for ((round = 1; round <= rounds; round++)); do
		for program in "${programs[@]}"; do
			measure "$work/growth.log" "$program" growth -q --no-cache "$dir" >"$work/growth.txt"
			awk -v p="$part" -v r="$round" -v s="$stacks" -v b="$program" \
				'{printf "%9d %9d %6d %9.2f %9.2f %9.0f  %s\n", p, p * s, r, $1, $2, $3 / 1024, b}' "$work/measured.txt"
		done
	done
done
