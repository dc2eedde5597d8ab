#!/usr/bin/env bash
# Keeps of `go test -v` what belongs in a kept record: results of tests and
# packages, and lines that tests logged; no times of day.
set -euo pipefail
date -u +'make test-full, %Y-%m-%d'
go version | sed 's/go version //'
echo
grep -aE '^(---|ok|FAIL|PASS|panic|builds)|_test.go:[0-9]+:|^ +--- FAIL' | sed -E 's#/[^ ]*/pkg/mod/#MODCACHE/#g' || true
