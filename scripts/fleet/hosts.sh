#!/usr/bin/env bash
# Simulates the snapshots of hosts of one program, exports them, and asks all questions: the answers must be those
# that were planted. Usage: hosts.sh HEAPLAPSE PYTHON DIR [HOSTS LABELLED]      PYTHON has duckdb.
set -euo pipefail
cd "$(dirname "$0")/../.."
heaplapse=${1:?usage: hosts.sh HEAPLAPSE PYTHON DIR [HOSTS LABELLED]} python=$2 dir=$3
hosts=${4:-200} labelled=${5:-60}

rm -rf "$dir"
mkdir -p "$dir/answers"
go run -C scripts ./fleet/hosts -o "$(realpath "$dir")/hosts" -hosts "$hosts" -labelled "$labelled"
du -sh "$dir/hosts" | sed 's/^/snapshots: /'

export heaplapse dir
began=$SECONDS
xargs -P 2 -L 1 bash -c '"$heaplapse" fleet export -q "$0" --sysroot "$0/sysroot" --no-cache -o "$dir/tables" --service "$1" --host "$2" --label "$3" --night 2026-11-22' \
	<"$dir/hosts/list" >"$dir/exported"
echo "exported $(wc -l <"$dir/exported") hosts in $((SECONDS - began)) s"
"$heaplapse" fleet compact "$dir/tables"
for question in $("$python" -c 'import sys; sys.path.insert(0, "scripts/fleet"); import compare; print(*compare.QUESTIONS)'); do
	"$heaplapse" fleet query "$question" "$dir/tables" --duckdb "$python" --format json >"$dir/answers/$question.json"
done
"$python" scripts/fleet/hosts.py "$dir" "$hosts" "$labelled"
