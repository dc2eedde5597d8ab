#!/usr/bin/env bash
# Runs every fuzz target of the module for TIME. Usage: fuzz.sh TIME
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-60s}
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
