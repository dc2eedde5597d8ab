#!/usr/bin/env bash
# Runs the tests of both modules, then builds the command for each supported platform.
# Usage: test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
go test -timeout 20m "$@" ./...
go test -C scripts -timeout 20m "$@" ./...
for target in linux/amd64 linux/arm64 darwin/arm64; do
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null ./cmd/heaplapse
	echo "builds for $target"
done
