#!/usr/bin/env bash
# Looks for faults of accessibility in the HTML page with axe-core, a development dependency of the
# page's script. Needs npm, its registry and chromium. The tests skip this without axe-core.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm >/dev/null || {
	echo "lint-page.sh: npm is missing: axe-core cannot be installed" >&2
	exit 1
}
(cd internal/report/page/web && npm ci --no-audit --no-fund --prefer-offline --ignore-scripts --loglevel error >/dev/null)
HEAPLAPSE_AXE=1 go test -run '^TestAccessibility$' ./internal/report/page
