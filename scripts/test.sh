#!/usr/bin/env bash
# Runs the tests of both modules and lists the slowest ones.
# Usage: test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
verbose=
[[ " $* " != *" -v "* ]] || verbose=-v
{
	go test -json -timeout 20m "$@" ./...
	go test -C scripts -json -timeout 20m "$@" ./...
} | go run -C scripts ./testlog $verbose
