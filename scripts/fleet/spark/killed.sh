#!/usr/bin/env bash
# Exports recordings with Spark (map.py) three times: undisturbed; with an executor that is killed half-way; and
# with the whole map killed half-way and run again. The files must be the same, byte by byte.
# Usage: killed.sh HEAPLAPSE PYTHON LIST DIR      PYTHON has pyspark and pandas; Spark needs Java.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${4:?usage: killed.sh HEAPLAPSE PYTHON LIST DIR}"
mkdir -p "$4"
heaplapse=$(realpath "$1") python=$(realpath -s "$2") list=$(realpath "$3") dir=$(realpath "$4")
export SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$python
count=$(grep -c . "$list")

# start OUT starts the map on two executors, which are processes. $driver is the Java process, their parent.
start() {
	rm -rf "$1"
	setsid "$(dirname "$python")/spark-submit" --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false \
		"$here/map.py" "$heaplapse" "$list" "$1" "$count" >"$dir/map.log" 2>&1 &
	driver=$!
}

runs() { find "$1/runs" -name '*.parquet' 2>/dev/null | grep -vc '/\.' || true; }

# half OUT waits until a third of the recordings is exported.
half() {
	while [ "$(runs "$1")" -lt $((count / 3)) ]; do
		kill -0 "$driver" 2>/dev/null || fail "the map ended too early"
		sleep 0.2
	done
	[ "$(runs "$1")" -lt "$count" ] || fail "nothing is left to do: the list is too short"
}

fail() {
	tail -n 30 "$dir/map.log" >&2
	echo "killed.sh: $*" >&2
	exit 1
}

sums() { (cd "$1" && find . -name '*.parquet' -not -name '.*' | sort | xargs sha256sum); }

cd "$dir" # Spark writes files there
start "$dir/undisturbed"
wait "$driver" || fail "the map failed"
sums "$dir/undisturbed" >"$dir/want"
echo "undisturbed: $(runs "$dir/undisturbed") runs of $count recordings"

start "$dir/executor"
half "$dir/executor"
executor=$(pgrep -P "$driver" -f CoarseGrainedExecutorBackend | head -n 1)
at=$(runs "$dir/executor")
kill -9 "$executor"
wait "$driver" || fail "the map failed after its executor was killed"
sums "$dir/executor" | cmp - "$dir/want" || fail "other files after an executor was killed"
grep -q 'Lost executor' "$dir/map.log" || fail "no executor was lost"
echo "an executor killed after $at runs: the same files, $(grep -c 'Lost task' "$dir/map.log" || true) tasks lost and run again"

start "$dir/map"
half "$dir/map"
at=$(runs "$dir/map")
kill -9 -- "-$driver"
wait "$driver" 2>/dev/null || true
out=$dir/map
setsid "$(dirname "$python")/spark-submit" --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false \
	"$here/map.py" "$heaplapse" "$list" "$out" "$count" >"$dir/map.log" 2>&1 || fail "the second map failed"
sums "$out" | cmp - "$dir/want" || fail "other files after the map was killed and run again"
[ -z "$(find "$out" -name '.*' -type f)" ] || fail "temporary files are left: $(find "$out" -name '.*' -type f)"
echo "the map killed after $at runs, and run again: the same files"
