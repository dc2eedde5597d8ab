#!/usr/bin/env bash
# Runs all scripts of this directory, which look whether recording harms a program. Takes an hour, and root.
# Usage: all.sh [WORKDIR]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
chmod 755 "$work" # other users run programs below it
status=0
for name in waits musl forks sandboxes filesystems planted memory; do
	echo "== $name"
	"$here/$name.sh" "$work/$name" || status=1
done
[ -n "${1:-}" ] || rm -rf "$work"
exit $status
