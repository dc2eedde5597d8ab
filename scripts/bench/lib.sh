# Functions of the benchmarks. A benchmark sets the directories here (of the scripts), repo (of the
# checkout) and work (of its files), and the size of the program (see shop.cc) in units, levels and
# layers.
# shellcheck shell=bash disable=SC2154 # set by the scripts

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$(basename "$0"): $*"
	exit 1
}

# need TOOL... exits if a tool is missing. It sets gnutime to the path of GNU time.
need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || die "$tool is missing"
	done
	gnutime=$(type -P time) || die "GNU time is missing"
}

# work_in [WORKDIR] makes the directory of the files, or a temporary one, which the script removes.
work_in() {
	if [ $# -gt 0 ]; then
		mkdir -p "$1"
		work=$(cd "$1" && pwd)
	else
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
	fi
}

# build_program FILE JOBS compiles the units of shop.cc, JOBS at the same time, and links them.
build_program() {
	say "compiling $units units"
	local flags="-std=c++17 -O2 -g -DLEVELS=$levels -DLAYERS=$layers" obj=$work/obj
	mkdir -p "$obj"
	# shellcheck disable=SC2086 # flags are words
	seq 1 "$units" | xargs -P "$2" -I{} g++ $flags -DUNIT={} -c "$here/shop.cc" -o "$obj/unit{}.o"
	# shellcheck disable=SC2086
	g++ $flags -c "$here/shop.cc" -o "$obj/main.o"
	g++ "$obj"/*.o -pthread -o "$1.new"
	mv "$1.new" "$1"
	rm -rf "$obj"
}

# build_tools builds heaplapse, and google/pprof at the version in go.mod. If go.mod lacks a
# dependency of pprof's command, it builds pprof in a separate module.
build_tools() {
	make -s -C "$repo" build
	cp "$repo/bin/heaplapse" "$work/heaplapse"
	pprof_version=$(cd "$repo" && go list -m -f '{{.Version}}' github.com/google/pprof)
	export CGO_ENABLED=0
	(cd "$repo" && go build -mod=readonly -o "$work/pprof" github.com/google/pprof 2>/dev/null) && return
	rm -rf "$work/module"
	mkdir "$work/module"
	(cd "$work/module" && go mod init bench && go get "github.com/google/pprof@$pprof_version" &&
		go build -o "$work/pprof" github.com/google/pprof) 2>"$work/module/log.txt" || die "$(cat "$work/module/log.txt")"
}

# measure LOG COMMAND... runs a command, and writes its wall time, its CPU time and the peak memory
# of its largest process in KB to measured.txt.
measure() {
	local log=$1
	shift
	"$gnutime" -f '%e %U %S %M' -o "$work/time.txt" "$@" 2>"$log" || die "$1 failed: $(tail -n 5 "$log")"
	awk '{print $1, $2 + $3, $4}' "$work/time.txt" >"$work/measured.txt"
}
