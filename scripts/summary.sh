#!/usr/bin/env bash
# Reduces the output of `go test -v` to what out/test-full.txt keeps: the results of tests and
# packages, what tests logged, and the slowest tests.
set -euo pipefail
date -u +'make test-full, %Y-%m-%d'
go version | sed 's/go version //'
echo
grep -aE '^(---|ok|FAIL|PASS|panic|builds|the slowest| +[0-9.]+  )|_test.go:[0-9]+:|^ +--- FAIL' | sed -E 's#/[^ ]*/pkg/mod/#MODCACHE/#g' || true
