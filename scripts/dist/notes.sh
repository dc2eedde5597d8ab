#!/usr/bin/env bash
# Prints the section of CHANGELOG.md about a release. Usage: notes.sh v0.1.0, or notes.sh Unreleased
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1#v}
notes=$(awk -v heading="## [$version]" 'index($0, "## ") == 1 {found = index($0, heading) == 1; next} found' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || {
	echo "notes.sh: CHANGELOG.md has no section [$version]: give [Unreleased] that name and a date" >&2
	exit 1
}
printf '%s\n' "$notes"
