#!/usr/bin/env bash
# Compares the conversion of a directory of snapshots with a loop of google/pprof's `pprof -proto`.
# It uses 1,000 snapshots of 1 MiB of a C++ program with about 30 MB of debug information, made from
# recorded ones.
#
# Usage: scripts/bench/convert.sh [WORKDIR]
#
# All files are written to WORKDIR, which is kept. A later run uses its program and snapshots again.
# Without WORKDIR, the script uses a temporary directory and removes it. It needs 2 GB of disk
# space, Go, g++, python3, llvm-symbolizer, GNU time and libtcmalloc.so.4 (Debian: g++ python3 llvm
# time libgoogle-perftools4).
#
# Environment, with defaults: UNITS=20 LEVELS=2 LAYERS=11 (size of the program, see shop.cc),
# SECONDS_RUN=8 (duration of the recording), SNAPSHOTS=1000, LOOP=20 (number of snapshots that pprof
# converts), ROUNDS=2, TCMALLOC=libtcmalloc.so.4
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
units=${UNITS:-20} levels=${LEVELS:-2} layers=${LAYERS:-11} seconds=${SECONDS_RUN:-8}
snapshots=${SNAPSHOTS:-1000} loop=${LOOP:-20} rounds=${ROUNDS:-2} tcmalloc=${TCMALLOC:-libtcmalloc.so.4}

. "$here/lib.sh"
need go g++ make python3 llvm-symbolizer size

work_in "$@"
program=$work/shop
# Each run writes to a new directory, because creating files takes longer just after others were
# removed.
out=$(mktemp -d "$work/out.XXXXXX")
[ $# -eq 0 ] || trap 'rm -rf "$out"' EXIT

# debug_bytes FILE prints the total size of the debug sections.
debug_bytes() { size -A "$1" | awk '/^\.debug_/ {n += $2} END {print n + 0}'; }

# --- the snapshots ---

# record runs the program and keeps the snapshots with at least nine tenths of the maximum size,
# which omits the first ones.
record() {
	say "recording $seconds seconds"
	rm -rf "$work/real"
	mkdir "$work/real"
	LD_PRELOAD=$tcmalloc HEAPPROFILE=$work/real/shop HEAP_PROFILE_TIME_INTERVAL=1 HEAP_PROFILE_INUSE_INTERVAL=0 \
		HEAP_PROFILE_ALLOCATION_INTERVAL=0 "$program" "$seconds" >/dev/null 2>"$work/real/stderr.txt" || die "$(cat "$work/real/stderr.txt")"
	local largest f
	largest=$(find "$work/real" -name '*.heap' -size +0 -printf '%s\n' | sort -n | tail -n 1)
	for f in "$work"/real/*.heap; do
		[ "$(stat -c %s "$f")" -ge $((largest * 9 / 10)) ] || rm "$f"
	done
}

# multiply makes a long series from the recorded snapshots. The counts of each stack grow at a
# different rate; the sizes of objects, the stacks and the mappings do not change. Rows are sorted
# as the allocator does, and the header has the new totals. The modification times are 10 seconds
# apart.
multiply() {
	say "making $snapshots snapshots"
	rm -rf "$work/series"
	mkdir "$work/series"
	python3 - "$work/series" "$snapshots" "$work"/real/*.heap <<-'PYTHON'
		import os, re, sys, zlib

		out, n, dumps = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
		ROW = re.compile(r"\s*(\d+):\s*(\d+) \[\s*(\d+):\s*(\d+)\] @ ?(.*)")

		def parse(path):
		    head, _, maps = open(path).read().partition("\nMAPPED_LIBRARIES:")
		    header, *rows = head.rstrip("\n").split("\n")
		    total = re.match(r"heap profile:\s*(\d+):\s*(\d+) \[\s*(\d+):\s*(\d+)\] @ heapprofile$", header)
		    parsed = []
		    for row in rows:
		        m = ROW.fullmatch(row)
		        if m is None:
		            return None
		        counts = tuple(map(int, m.groups()[:4]))
		        parsed.append((counts, m[5], zlib.crc32(m[5].encode()) % 7))
		    total = tuple(map(int, total.groups()))
		    whole = total == tuple(sum(r[0][i] for r in parsed) for i in range(4))
		    return (total, parsed, maps) if whole else None

		# Omits snapshots that the allocator truncated at 1 MiB: google/pprof rejects a truncated
		# number.
		real = [p for p in map(parse, dumps) if p]
		if not real:
		    sys.exit("all snapshots are truncated: make the program smaller (UNITS, LAYERS)")
		start = os.path.getmtime(dumps[0])
		for i in range(n):
		    header, rows, maps = real[i * len(real) // n]
		    total, new = list(header), []
		    for counts, stack, rate in rows:
		        more = rate * i // 100
		        if counts[0] == 0:
		            more = 0
		        size = counts[1] // counts[0] if counts[0] else 0
		        delta = (more, more * size, more, more * size)
		        total = [a + b for a, b in zip(total, delta)]
		        new.append((tuple(a + b for a, b in zip(counts, delta)), stack))
		    new.sort(key=lambda r: -r[0][1])
		    path = os.path.join(out, f"p.{i + 1:04d}.heap")
		    with open(path, "w") as f:
		        f.write("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n" % tuple(total))
		        f.writelines("%6d: %8d [%6d: %8d] @ %s\n" % (*counts, stack) for counts, stack in new)
		        f.write("\nMAPPED_LIBRARIES:" + maps)
		    os.utime(path, (start + 10 * i, start + 10 * i))
	PYTHON
}

# --- the race ---

# loop_pprof OUTDIR converts LOOP snapshots, evenly spaced over the series, one by one.
loop_pprof() {
	local i f
	mkdir "$1"
	for ((i = 0; i < loop; i++)); do
		f=$(printf 'p.%04d' $((i * snapshots / loop + 1)))
		"$work/pprof" -proto -output="$1/$f.pb.gz" "$program" "$work/series/$f.heap" >/dev/null
	done
}

# timed NAME ROUND COUNT COMMAND... runs a command and appends a line to the results: name, round,
# number of snapshots, load average before the run, wall time, CPU time, peak memory in KB.
timed() {
	local name=$1 round=$2 count=$3 load
	shift 3
	read -r load _ </proc/loadavg
	say "$name, round $round"
	measure "$work/$name.log" "$@" >/dev/null
	echo "$name $round $count $load $(cat "$work/measured.txt")" >>"$work/results.txt"
}

race() {
	local round
	export work program loop snapshots
	export PPROF_TMPDIR=$work/tmp
	export -f loop_pprof
	: >"$work/results.txt"
	cat "$work"/series/*.heap >/dev/null # into the page cache
	for ((round = 1; round <= rounds; round++)); do
		# shellcheck disable=SC2016 # expanded by the inner shell
		timed pprof "$round" "$loop" bash -euo pipefail -c 'loop_pprof "$1"' loop "$out/pprof.$round"
		timed heaplapse "$round" "$snapshots" "$work/heaplapse" convert --no-cache "$work/series" -o "$out/heaplapse.$round"
	done
}

table() {
	awk '
		BEGIN {
			row = "%-10s %5s %9s %6s %9s %9s %14s %14s %9s\n"
			printf row, "tool", "round", "snapshots", "load", "wall s", "CPU s", "wall/snapshot", "CPU/snapshot", "peak MiB"
		}
		{
			printf row, $1, $2, $3, $4, sprintf("%.2f", $5), sprintf("%.2f", $6), sprintf("%.5f s", $5 / $3), sprintf("%.5f s", $6 / $3), sprintf("%.0f", $7 / 1024)
			wall[$1, $2] = $5 / $3; cpu[$1, $2] = $6 / $3; rounds = $2
		}
		END {
			for (r = 1; r <= rounds; r++)
				printf "round %d: pprof needs %.0f times the wall time and %.0f times the CPU time per snapshot\n", r,
					wall["pprof", r] / wall["heaplapse", r], cpu["pprof", r] / cpu["heaplapse", r]
		}' "$work/results.txt"
}

# --- the check ---

# raw_total FILE prints the sum of inuse_space over the samples of a profile.
raw_total() {
	"$work/pprof" -raw "$1" 2>/dev/null | awk '
		/^Samples:/ {samples = 1; next}
		/^Locations/ {samples = 0}
		samples && /inuse_space/ {for (i = 1; i <= NF; i++) if ($i ~ /^inuse_space/) column = i; next}
		samples && /^ *-?[0-9]+/ && !/:\[/ {sub(":", " "); n += $column}
		END {printf "%.0f\n", n}'
}

# raw_lines FILE prints the number of locations with a source line of the program.
raw_lines() {
	"$work/pprof" -raw "$1" 2>/dev/null | awk '/shop::.*shop\.cc:[1-9]/ {n++} END {print n + 0}'
}

check() {
	local name theirs ours header their_file our_file
	for name in p.0001 "$(printf 'p.%04d' $(((loop - 1) * snapshots / loop + 1)))"; do
		their_file=$out/pprof.1/$name.pb.gz our_file=$out/heaplapse.1/$name.pb.gz
		header=$(awk 'NR == 1 {gsub(/[:\[\]]/, " "); print $4}' "$work/series/$name.heap")
		theirs=$(raw_total "$their_file") ours=$(raw_total "$our_file")
		echo "$name: inuse_space: header $header, pprof $theirs, heaplapse $ours;" \
			"lines in the program's functions: pprof $(raw_lines "$their_file"), heaplapse $(raw_lines "$our_file")"
		[[ $theirs = "$ours" && $ours = "$header" ]] || die "$name: the totals differ"
		[ "$(raw_lines "$our_file")" -gt 0 ] || die "$name: heaplapse names no functions with lines"
	done
	[ "$(find "$out/heaplapse.1" -name '*.pb.gz' | wc -l)" = "$snapshots" ] || die "heaplapse did not write $snapshots files"
}

[ -x "$program" ] || build_program "$program" "$(nproc)"
compgen -G "$work/real/*.heap" >/dev/null || record
[ "$(find "$work/series" -name '*.heap' 2>/dev/null | wc -l)" = "$snapshots" ] || multiply
build_tools
race
first=$work/series/p.0001.heap
echo "program: $units units, $(($(debug_bytes "$program") / 1000000)) MB of debug sections; $(find "$work/real" -name "*.heap" | wc -l) recorded snapshots"
echo "snapshots: $snapshots of $(stat -c %s "$first") bytes, $(grep -c ' @ 0x' "$first") stacks of $(awk '/ @ 0x/ {sub(/.*@ /, ""); n += NF; r++} END {printf "%.1f", n / r}' "$first") addresses"
echo "google/pprof $pprof_version, $(llvm-symbolizer --version | awk '/LLVM version/ {print "llvm-symbolizer", $NF}'), $(go version), $(nproc) CPUs"
table
check
