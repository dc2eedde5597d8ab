#!/usr/bin/env bash
# Runs the fuzz targets of the module, each for TIME on one processor. Usage: fuzz.sh TIME [REGEXP]
# REGEXP selects targets by PACKAGE.TARGET.
#
# The inputs that reach new code are kept in ${XDG_CACHE_HOME:-~/.cache}/heaplapse-dev/fuzz, so that
# each run begins where the last one ended. An input that fails is written to testdata/fuzz of its
# package: commit it with the mend, as a regression test.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${1:-60s} CORPUS=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/fuzz
pattern=${2:-.}

# targets prints a package and a target per line.
targets() {
	grep -roE --include='*_test.go' '^func Fuzz\w+' . | sed -E 's|/[^/]*:func | |' | sort | grep -E "$(sed 's|\.|[. ]|g' <<<"$pattern")"
}

# fuzz PACKAGE TARGET prints one line, or everything if the target fails. Without a limit,
# minimizing an input may take most of the time.
fuzz() {
	local log result=passed
	log=$(mktemp)
	go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x -parallel 1 "$1" \
		-test.fuzzcachedir="$CORPUS/${1#./}" >"$log" 2>&1 || result=FAILED
	[ $result = passed ] || cat "$log"
	printf '%s %s: %s, %s\n' "$1" "$2" $result "$(grep -oE 'execs: [0-9]+' "$log" | tail -n 1 || true)"
	rm "$log"
	[ $result = passed ]
}
export -f fuzz

targets | xargs -P "$(nproc)" -L 1 bash -euo pipefail -c 'fuzz "$@"' fuzz
