#!/usr/bin/env bash
# Runs the questions about a fleet with DuckDB, on the rows of a small simulated fleet: each must find what was
# planted. The text for each other engine must parse. check.sh runs them on the other engines, and on more rows.
# DuckDB is installed once, into the user's cache; that needs Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$(scripts/venv.sh fleet -r scripts/fleet/requirements-quick.txt)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/heaplapse" ./cmd/heaplapse
"$venv/bin/python" scripts/fleet/simulate.py "$dir/tables" --hosts 2000 --sites 10 --nights 6
"$venv/bin/python" scripts/fleet/compare.py "$dir/heaplapse" "$dir/tables" duckdb
"$venv/bin/python" scripts/fleet/parse.py "$dir/heaplapse"
HEAPLAPSE_DUCKDB=$venv/bin/duckdb HEAPLAPSE_DUCKDB_PYTHON=$venv/bin/python go test -count 1 ./internal/fleet/query
