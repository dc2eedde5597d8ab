#!/usr/bin/env bash
# Runs the tests of both modules and lists the slowest ones. `make lint` runs go vet.
# Usage: test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
verbose=
[[ " $* " != *" -v "* ]] || verbose=-v
{
	go test -json -vet=off -parallel 4 -timeout 20m "$@" ./...
	go test -C scripts -json -vet=off -parallel 4 -timeout 20m "$@" ./...
} | go run -C scripts ./testlog $verbose
