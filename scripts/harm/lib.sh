# Functions of the scripts that look whether recording harms a program. Each script takes WORKDIR first,
# prints one line for each case, and ends with 1 if one fell.
# shellcheck shell=bash disable=SC2034,SC2154 # set by the scripts
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=0

# begin WORKDIR builds heaplapse in the directory, or in a temporary one, and goes there. HEAPLAPSE names
# another heaplapse.
begin() {
	if [ -n "${1:-}" ]; then
		mkdir -p "$1" && cd "$1" || exit
	else
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
		cd "$work" || exit
	fi
	work=$PWD hl=${HEAPLAPSE:-$PWD/heaplapse}
	[ -n "${HEAPLAPSE:-}" ] || CGO_ENABLED=0 go build -C "$here/../.." -o "$hl" ./cmd/heaplapse || exit
}

# need TOOL PACKAGE reports whether there is a tool. A case without its tool is skipped, and fails in CI.
need() {
	command -v "$1" >/dev/null && return
	skip "$1: needs $2"
	return 1
}

skip() {
	echo "skipped  $*"
	[ "${CI:-}" != true ] || failed=1
}

# say NAME STATUS [TEXT] prints the result of a case, which fell if the status is not 0.
say() {
	if [ "$2" = 0 ]; then
		echo "holds    $1${3:+: $3}"
	else
		echo "FALLS    $1${3:+: $3}"
		failed=1
	fi
}
