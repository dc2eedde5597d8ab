# What the benchmarks have in common. They set here, repo and work (directories: of these scripts, of the checkout, of what
# they make) and the program's UNITS, LEVELS and LAYERS (see shop.cc) as units, levels and layers.
# shellcheck shell=bash disable=SC2154 # set by the scripts

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$(basename "$0"): $*"
	exit 1
}

# need TOOL... says which tool is missing; GNU time's path goes to gnutime.
need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || die "$tool is missing"
	done
	gnutime=$(type -P time) || die "GNU time is missing"
}

# build_program FILE JOBS compiles shop.cc's units, so many at once, and links them.
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

# build_tools builds heaplapse and google/pprof at the versions of this checkout. google/pprof is built in a module of its
# own where the checkout's go.mod lacks what its command needs.
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

# measure LOG COMMAND... runs a command; measured.txt has its wall time, its CPU time and the peak memory of its largest process in KB.
measure() {
	local log=$1
	shift
	"$gnutime" -f '%e %U %S %M' -o "$work/time.txt" "$@" 2>"$log" || die "$1 failed: $(tail -n 5 "$log")"
	awk '{print $1, $2 + $3, $4}' "$work/time.txt" >"$work/measured.txt"
}
