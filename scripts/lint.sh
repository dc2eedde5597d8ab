#!/usr/bin/env bash
# Builds for each platform, runs gofmt, go vet, golangci-lint and the checks of lint-size.sh, lint-config.sh, lint-c.sh and lint-page.sh, and builds the site.
# Usage: lint.sh MODULE@VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
linter=$1
unformatted=$(gofmt -l $(git ls-files -co --exclude-standard '*.go'))
if [ -n "$unformatted" ]; then
	echo "not gofmt-clean: $unformatted" >&2
	exit 1
fi
scripts/platforms.sh
for module in . scripts; do go vet -C "$module" ./...; done
# The linter is built once per version and Go release, and kept in the user's cache.
version=${linter##*@}
dir=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/golangci-lint-$version-$(go env GOVERSION)
if [ ! -x "$dir/golangci-lint" ]; then
	echo "lint.sh: building golangci-lint $version (once)" >&2
	GOBIN=$dir GOFLAGS= go install "$linter"
fi
for module in . scripts; do (cd "$module" && "$dir/golangci-lint" run --allow-parallel-runners ./...); done
scripts/lint-size.sh
go run -C scripts ./house -check
scripts/lint-config.sh
scripts/lint-c.sh
scripts/lint-page.sh
scripts/site/build.sh
