#!/usr/bin/env bash
# Asks all questions about a simulated fleet on DuckDB, chdb and Spark: the rows must be the same, and those
# that were planted. Then it exports simulated snapshots, kills maps on Spark, and pushes to real servers.
# Usage: check.sh DIR [HOSTS SITES NIGHTS]. DIR holds the tables. Spark needs Java; without it, it is left out.
# 10000 300 30 makes 89 million rows.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:?usage: check.sh DIR [HOSTS SITES NIGHTS]}
hosts=${2:-2000} sites=${3:-20} nights=${4:-12}

venv=$(scripts/venv.sh fleet-check -r scripts/fleet/requirements-quick.txt -r scripts/fleet/requirements.txt)
mkdir -p "$dir"
go build -o "$dir/heaplapse" ./cmd/heaplapse

rm -rf "$dir/tables"
"$venv/bin/python" scripts/fleet/simulate.py "$dir/tables" --hosts "$hosts" --sites "$sites" --nights "$nights"
engines=(duckdb chdb)
if command -v java >/dev/null; then
	engines+=(spark)
else
	echo "check.sh: no java: Spark is left out"
fi
"$venv/bin/python" scripts/fleet/compare.py "$dir/heaplapse" "$dir/tables" "${engines[@]}"

# The command itself, with the Python package and with files that it wrote.
rm -rf "$dir/written"
for host in 1 2 3; do
	"$dir/heaplapse" fleet export testdata/leaky --sysroot testdata/leaky/sysroot -o "$dir/written" --service leaky --host "web-$host"
done
"$dir/heaplapse" fleet query leaks "$dir/written" --duckdb "$venv/bin/python" --format csv >"$dir/before"
"$dir/heaplapse" fleet compact "$dir/written"
"$dir/heaplapse" fleet query leaks "$dir/written" --duckdb "$venv/bin/python" --format csv >"$dir/after"
cmp "$dir/before" "$dir/after"
grep -q '^leaky,.*,leaky::remember,leaky.cc,105,leaky,3,3,1.0,' "$dir/after"
"$venv/bin/python" scripts/fleet/compare.py "$dir/heaplapse" "$dir/written" "${engines[@]}"

# Snapshots of 200 hosts, and what is planted in them; the map on Spark, with executors that are killed.
scripts/fleet/hosts.sh "$dir/heaplapse" "$venv/bin/python" "$dir/fleet"
if command -v java >/dev/null; then
	head -n 24 "$dir/fleet/hosts/list" >"$dir/fleet/some"
	scripts/fleet/spark/killed.sh "$dir/heaplapse" "$venv/bin/python" "$dir/fleet/some" "$dir/spark"
fi

# Real servers for profiles, if this machine has them.
HEAPLAPSE_PARCA=$(command -v parca || true) HEAPLAPSE_PYROSCOPE=$(command -v pyroscope || true) \
	go test -count 1 -v -run 'TestReal' ./internal/push
