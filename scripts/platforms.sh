#!/usr/bin/env bash
# Builds the command for each supported platform.
set -euo pipefail
cd "$(dirname "$0")/.."
for target in linux/amd64 linux/arm64 darwin/arm64; do
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null ./cmd/heaplapse
	echo "builds for $target"
done
