#!/usr/bin/env bash
# Runs the tests of both modules and lists the slowest ones. `make lint` runs go vet.
# Usage: test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
go run -C scripts ./testrun -vet=off -parallel 4 -timeout 30m "$@" -- ./... -- ./...
