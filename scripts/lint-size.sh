#!/usr/bin/env bash
# Fails for each package that has more than MOST lines of Go, without tests: nobody reads it in one sitting. Split it
# along its parts, or make it smaller. Usage: lint-size.sh [MOST]
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.go' ':!*_test.go' | while read -r file; do
	[ ! -e "$file" ] || echo "$(dirname "$file") $(wc -l <"$file")"
done | awk -v most="${1:-2500}" '
	{lines[$1] += $2}
	END {
		for (package in lines)
			if (lines[package] > most) {
				print "lint-size.sh: " package " has " lines[package] " lines without tests, more than " most
				failed = 1
			}
		exit failed
	}' | sort >&2
