#!/usr/bin/env bash
# Runs the tests. The race detector needs cgo and a C compiler; without one the tests run plain.
# RACE=off leaves it out: a full run is long enough, and `make test` has it.
# Usage: test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
race=()
if [ "${RACE:-}" = off ]; then
	:
elif command -v gcc >/dev/null && [ "$(go env GOARCH)" = amd64 ]; then
	race=(-race)
	export CGO_ENABLED=1
else
	echo "test.sh: no C compiler: tests run without the race detector" >&2
fi
go test "${race[@]}" -timeout 60m "$@" ./...
# It must build for the platforms that are promised.
for target in linux/amd64 linux/arm64 darwin/arm64; do
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null ./cmd/heaplapse
	echo "builds for $target"
done
