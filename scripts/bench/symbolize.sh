#!/usr/bin/env bash
# Compares `heaplapse symbolize -e` with llvm-symbolizer, the addr2line of binutils and of gimli,
# and google/pprof. It measures wall time and peak memory for 1,000, 10,000 and 100,000 code
# addresses of one program of about 270 MB. heaplapse runs without its cache, with an empty cache,
# and with one that holds the addresses. Then the script compares the output with that of
# llvm-symbolizer, address by address.
#
# Usage: scripts/bench/symbolize.sh [--compare] [WORKDIR]
#
# --compare omits the measurements. All files are written to WORKDIR, which is kept. A later run
# uses its program again. Without WORKDIR, the script uses a temporary directory and removes it. It
# needs 2 GB of disk space, Go, g++, llvm-symbolizer, binutils and GNU time (Debian: g++ llvm
# binutils time). gimli's addr2line is built with cargo, and omitted if cargo is missing. Compiling
# takes about 10 minutes on two cores, and 400 MB of memory per unit.
#
# Environment, with defaults: UNITS=80 LEVELS=3 LAYERS=11 (size of the program, see shop.cc), JOBS=2
# (number of compilers at the same time), ROUNDS=3, SIZES="1000 10000 100000", ADDR2LINE=FILE
# (gimli's addr2line; built by default)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
units=${UNITS:-80} levels=${LEVELS:-3} layers=${LAYERS:-11} jobs=${JOBS:-2}
rounds=${ROUNDS:-3} sizes=${SIZES:-1000 10000 100000} gimli=${ADDR2LINE:-}

. "$here/lib.sh"
need go g++ make llvm-symbolizer addr2line readelf size

mode=race
if [ "${1:-}" = --compare ]; then
	mode=compare
	shift
fi
work_in "$@"
program=$work/shop

# --- the program ---

# text prints the address and the size of the program's code.
text() { size -A -d "$program" | awk '$1 == ".text" {print $3, $2}'; }

# sample N prints N random addresses, uniformly distributed over the code. They are the same in each
# run with the same awk.
sample() {
	text | awk -v n="$1" '{
		srand(7)
		for (i = 0; i < n; i++) printf "0x%x\n", $1 + int(rand() * $2)
	}'
}

# heap_profile FILE prints a heap profile with a stack of one frame for each address in a file. The
# program is mapped at a fixed address.
heap_profile() {
	local load=268435456 # 0x10000000; some awks have 32-bit numbers
	awk -v load=$load '
		function hex(s, i, v) {
			v = 0
			for (i = 3; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
			return v
		}
		{a[NR] = hex($1) + load + 1}
		END {
			printf "heap profile: %d: %d [%d: %d] @ heapprofile\n", NR, NR * 100, NR, NR * 100
			for (i = 1; i <= NR; i++) printf "1: 100 [1: 100] @ 0x%x\n", a[i]
		}' "$1"
	printf '\nMAPPED_LIBRARIES:\n'
	readelf -lW "$program" | awk -v load=$load -v path="$program" '
		function hex(s, i, v) {
			v = 0
			for (i = 3; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
			return v
		}
		$1 == "LOAD" && / R E / {
			start = load + hex($3); end = start + int((hex($6) + 4095) / 4096) * 4096
			printf "%x-%x r-xp %08x fe:01 1 %s\n", start, end, hex($2), path
		}'
}

# --- the tools ---

# build_gimli installs gimli's addr2line with cargo, unless it is installed.
build_gimli() {
	[ -z "$gimli" ] || return 0
	gimli=$work/cargo/bin/addr2line
	[ ! -x "$gimli" ] || return 0
	if command -v cargo >/dev/null && say "building gimli's addr2line" &&
		cargo install --quiet --root "$work/cargo" addr2line --features=bin >"$work/cargo.log" 2>&1; then
		return 0
	fi
	say "gimli's addr2line is omitted: cargo is missing or could not build it"
	gimli=
}

# --- the race ---

# timed NAME COUNT INPUT COMMAND... runs a command and appends a line to the results: name, number
# of addresses, wall time, CPU time, peak memory in KB. It writes the output to NAME.COUNT.txt.
timed() {
	local name=$1 count=$2 input=$3
	shift 3
	measure "$work/$name.log" "$@" <"$input" >"$work/$name.$count.txt"
	echo "$name $count $(cat "$work/measured.txt")" >>"$work/results.txt"
}

# round COUNT runs each tool once on COUNT addresses.
round() {
	local n=$1 in=$work/addresses.$1
	timed heaplapse "$n" "$in" "$work/heaplapse" symbolize --no-cache -e "$program"
	rm -rf "$work/cache"
	timed heaplapse-fills-cache "$n" "$in" "$work/heaplapse" symbolize -e "$program"
	timed heaplapse-warm-cache "$n" "$in" "$work/heaplapse" symbolize -e "$program"
	timed llvm-symbolizer "$n" "$in" llvm-symbolizer -i -C --obj="$program"
	[ -z "$gimli" ] || timed gimli-addr2line "$n" "$in" "$gimli" -afiC -e "$program"
	if [ "$n" -le 10000 ]; then timed binutils-addr2line "$n" "$in" addr2line -afiC -e "$program"; fi
	if [ "$n" -le 1000 ]; then timed google-pprof "$n" /dev/null "$work/pprof" -proto -output="$work/pprof.pb.gz" "$program" "$work/p.$n.heap"; fi
}

race() {
	local r n
	export PPROF_TMPDIR=$work/tmp XDG_CACHE_HOME=$work/cache
	: >"$work/results.txt"
	cat "$program" >/dev/null # into the page cache
	for n in $sizes; do
		heap_profile "$work/addresses.$n" >"$work/p.$n.heap"
		for ((r = 1; r <= rounds; r++)); do
			say "$n addresses, round $r"
			round "$n"
		done
	done
}

# table prints the medians over the rounds and their ratios to llvm-symbolizer.
table() {
	awk '
		function median(list, v, n, i, j, t) {
			n = split(list, v, " ")
			for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {t = v[j]; v[j] = v[j - 1]; v[j - 1] = t}
			return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		{
			key = $2 " " $1
			if (!(key in wall)) order[++keys] = key
			wall[key] = wall[key] " " $3; cpu[key] = cpu[key] " " $4; peak[key] = peak[key] " " $5
		}
		END {
			row = "%9s  %-21s %9s %9s %9s %12s %12s\n"
			printf row, "addresses", "tool", "wall s", "CPU s", "peak MiB", "wall : llvm", "peak : llvm"
			for (k = 1; k <= keys; k++) {
				split(order[k], part, " ")
				base = part[1] " llvm-symbolizer"
				w = median(wall[order[k]]); p = median(peak[order[k]])
				printf row, part[1], part[2], sprintf("%.2f", w), sprintf("%.2f", median(cpu[order[k]])), sprintf("%.0f", p / 1024),
					sprintf("%.2f", w / median(wall[base])), sprintf("%.2f", p / median(peak[base]))
			}
		}' "$work/results.txt"
}

# --- the check ---

# answers runs heaplapse, and llvm-symbolizer if the race has not, on the largest sample.
answers() {
	local n=${sizes##* }
	"$work/heaplapse" symbolize --no-cache -e "$program" <"$work/addresses.$n" >"$work/heaplapse.$n.txt"
	[ -s "$work/llvm-symbolizer.$n.txt" ] || llvm-symbolizer -i -C --obj="$program" <"$work/addresses.$n" >"$work/llvm-symbolizer.$n.txt"
}

# compare counts the answers that agree in function, file, line and column of every frame, and
# groups the others by their first difference. It writes three examples of each group to
# differences.txt.
compare() {
	local n=${sizes##* }
	awk -v theirs="$work/llvm-symbolizer.$n.txt" -v examples="$work/differences.txt" '
		# mangled reports whether two answers are equal except for names that llvm-symbolizer cannot
		# demangle.
		function mangled(x, y, n, i) {
			for (i = 1; i <= n; i++) if (x[i] != y[i] && !(i % 2 && y[i] ~ /^_Z/ && x[i] !~ /^_Z/)) return 0
			return 1
		}
		# spelled reports whether two answers are equal except for blanks and parentheses.
		function spelled(a, b) {
			gsub(/[() ]/, "", a); gsub(/[() ]/, "", b)
			return a == b
		}
		function kind(a, b, x, y, n, m, i) {
			n = split(a, x, "\n"); m = split(b, y, "\n")
			if (x[1] == "??" && y[1] != "??") return "named by llvm-symbolizer only"
			if (y[1] == "??" && x[1] != "??") return "named by heaplapse only"
			if (n != m) return "different number of inlined frames"
			if (mangled(x, y, n)) return left
			if (spelled(a, b)) return blank
			for (i = 2; i <= n; i += 2) if (x[i] != y[i]) return "different file, line or column"
			for (i = 1; i < n - 1; i += 2) if (x[i] != y[i]) return "different name of an inlined function"
			return "different name of the outermost function"
		}
		BEGIN {
			RS = ""; printf "" >examples
			left = "equal except for a name that llvm-symbolizer leaves mangled"
			blank = "equal except for blanks and parentheses in a name"
		}
		{
			if ((getline other <theirs) <= 0) {print "llvm-symbolizer has fewer answers"; exit 1}
			all++
			if ($0 == other) {same++; next}
			k = kind($0, other)
			if (!count[k]++) order[++kinds] = k
			if (count[k] <= 3) printf "%s\nheaplapse:\n%s\nllvm-symbolizer:\n%s\n\n", k, $0, other >>examples
		}
		END {
			printf "%d of %d answers are equal to those of llvm-symbolizer: %.3f %%\n", same, all, all ? 100 * same / all : 0
			for (i = 1; i <= kinds; i++) printf "%8d  %s\n", count[order[i]], order[i]
			exit !(all && same + count[left] + count[blank] >= 0.999 * all)
		}' "$work/heaplapse.$n.txt" || die "fewer than 99.9 % agree: see $work/differences.txt"
}

[ -x "$program" ] || build_program "$program" "$jobs"
build_tools
for n in $sizes; do sample "$n" >"$work/addresses.$n"; done
echo "program: $units units, $(($(stat -c %s "$program") / 1000000)) MB, of which $(size -A "$program" | awk '/^\.debug_/ {n += $2} END {printf "%.0f", n / 1e6}') MB of debug sections"
echo "$(llvm-symbolizer --version | awk '/LLVM version/ {print "llvm-symbolizer", $NF}'), $(addr2line --version | head -n 1), google/pprof $pprof_version, $(go version), $(nproc) CPUs"
if [ "$mode" = race ]; then
	build_gimli
	race
	table
fi
answers
compare
