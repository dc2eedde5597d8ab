# Functions of the end-to-end runs. A run sets the directory here (of these files).
# shellcheck shell=bash disable=SC2154 # set by the scripts

# begin [WORKDIR] builds heaplapse in the directory, or in a temporary one, and goes there.
begin() {
	work=${1:-}
	if [ -z "$work" ]; then
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
	fi
	mkdir -p "$work"
	work=$(cd "$work" && pwd)
	go build -C "$here/../.." -o "$work/heaplapse" ./cmd/heaplapse
	cd "$work"
}

# skip REASON ends the script without a result.
skip() {
	echo "$(basename "$0"): skipped: $*" >&2
	[ "${CI:-}" = true ] && [ "${HEAPLAPSE_FULL:-}" = 1 ] && exit 1
	exit 77
}

# install PACKAGE REQUIREMENT… installs requirements from PyPI, if the package is not there.
install() {
	[ -x venv/bin/python ] || "${PYTHON:-python3}" -m venv venv || skip "no virtual environment: needs python3 with its venv module (apt-get install python3-venv)"
	venv/bin/python -c 'import importlib.metadata as m, sys; m.version(sys.argv[1])' "$1" 2>/dev/null ||
		venv/bin/python -m pip install --quiet --disable-pip-version-check "${@:2}" >pip.log 2>&1 ||
		skip "${*:2} cannot be installed from PyPI: $(grep -a ERROR pip.log | head -n 1)"
}

# versions NAME PACKAGE… prints the versions of packages, and of Python.
versions() {
	venv/bin/python -c 'import importlib.metadata as m, platform as p, sys
a = sys.argv[1:]
print(*(f"{name} {m.version(package)}," for name, package in zip(a[::2], a[1::2])), "Python", p.python_version() + ",", p.machine())' "$@"
}

say() { printf '\n$ %s\n' "$*"; }

# session SCRIPT LOOP ENGINE records a loop of a script and judges it. The script's messages on
# standard error are left out.
session() {
	local out=$2-$3 record=(record -o "$2-$3")
	[ "$3" = auto ] || record+=(--engine "$3")
	rm -rf "$out"
	say heaplapse "${record[@]}" -- python "$1" "$2"
	./heaplapse "${record[@]}" -- venv/bin/python "$here/$1" "$2" 2>"$out.err" || { cat "$out.err" && return 1; }
	grep -a '^heaplapse: ' "$out.err" | sed 's#venv/bin/##'
	say heaplapse growth "$out"
	./heaplapse growth "$out" >"$out.txt" 2>"$out.warnings"
	cat "$out.warnings" "$out.txt"
}

failed=0
# expect LOOP ENGINE REGEXP WHAT checks the first line of growth's output.
expect() {
	if head -n 1 "$1-$2.txt" | grep -Eq "$3"; then
		printf '\nas expected: %s, %s: %s\n' "$1" "$2" "$4"
	else
		printf '\nNOT AS EXPECTED: %s, %s: want %s\n' "$1" "$2" "$4"
		failed=1
	fi
}
