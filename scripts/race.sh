#!/usr/bin/env bash
# Runs tests under the race detector: those of packages that start goroutines, in their code or in
# their tests, and lists the slowest ones. Code of other packages runs in goroutines only in whole
# commands, which the tests of cmd/heaplapse run. The tests of engine run C programs, and receive
# what they send as those of internal/record/channel do. `make test` runs all tests.
# Usage: race.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=1
# By default, each process sleeps for a second before it exits. The tests start thousands.
export GORACE=atexit_sleep_ms=10

# concurrent DIR prints the packages of a module that start goroutines.
concurrent() {
	local starts='^\s*go (func\b|[A-Za-z_][A-Za-z0-9_.]*\()|\.Go\(|\bhttptest\.|\bhttp\.(Serve|ListenAndServe)'
	git -C "$1" grep --untracked -lE "$starts" -- '*.go' ':!scripts' ':!engine' ':!examples' ':!testdata' | xargs -n1 dirname | sort -u | sed 's,^,./,'
}

mapfile -t product < <(concurrent .)
mapfile -t scripts < <(concurrent scripts)
go run -C scripts ./testrun -race -vet=off -parallel 4 -timeout 30m "$@" -- "${product[@]}" -- "${scripts[@]}"
