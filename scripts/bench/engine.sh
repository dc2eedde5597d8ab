#!/usr/bin/env bash
# Measures what the built-in engine costs: seven programs with and without it, in pairs of runs. It
# prints the medians of the ratios of wall time and of CPU time, the ratio of the least CPU times,
# which other work on the machine changes least, and how much more resident memory the program has.
# Run it on an idle machine. Needs gcc, g++, node, python3, redis-server, sqlite3.
# Usage: engine.sh WORKDIR [PAIRS [PROGRAM…]]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: engine.sh WORKDIR [PAIRS [PROGRAM…]]}
pairs=${2:-7}
programs=("${@:3}")
[ ${#programs[@]} -gt 0 ] || programs=(sqlite node compiler python redis malloc malloc-4)
mkdir -p "$work"
work=$(cd "$work" && pwd)
cp "engine/heaplapse-$(uname -m).so" "$work/engine.so"
go build -C scripts -o "$work/receive" ./bench/receive
gcc -O2 -pthread -o "$work/malloc" scripts/bench/malloc.c
g++ -E scripts/bench/shop.cc -o "$work/shop.ii"

cat >"$work/load.sql" <<'SQL'
create table t(a integer primary key, b text, c real);
begin;
with recursive n(i) as (select 1 union all select i+1 from n where i<600000)
insert into t select i, 'row number '||i||hex(randomblob(8)), i*1.5 from n;
create index ti on t(b);
select count(*), sum(length(b)) from t;
commit;
SQL
cat >"$work/redis.sh" <<'SH'
dir=$(mktemp -d)
redis-server --port 0 --unixsocket "$dir/s" --save "" --daemonize no >/dev/null 2>&1 &
export -n LD_PRELOAD
unset LD_PRELOAD
until redis-cli -s "$dir/s" ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s "$dir/s" -q -n 60000 -r 20000 -d 200 -t set,lpush,sadd >/dev/null
redis-cli -s "$dir/s" shutdown nosave >/dev/null 2>&1
wait $!
rm -rf "$dir"
SH

# pairs.py PAIRS LIMIT NAME COMMAND… prints one row of the table.
cat >"$work/pairs.py" <<'PY'
import glob, os, statistics, subprocess, sys, time
pairs, limit, name, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
work = os.path.dirname(os.path.abspath(sys.argv[0]))
receiver = subprocess.Popen([work + "/receive", work + "/out"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
settings = receiver.stdout.readline().strip()

def run(engine):
    env = dict(os.environ)
    if engine:
        for old in glob.glob(work + "/out.*") + glob.glob(work + "/out_*"):
            os.unlink(old)
        env["LD_PRELOAD"] = work + "/engine.so"
        env["HEAPLAPSE_ENGINE"] = "period=131072 every=500 part=250 children=0 python=1 mmap=1 main=0000000 " + settings
    start = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("%s failed" % name)
    return time.monotonic() - start, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024

bare, recorded = [], []
for i in range(pairs):
    # The order alternates, so that a machine that gets slower does not favour one of them.
    first = run(i % 2 == 1)
    second = run(i % 2 == 0)
    a, b = (first, second) if i % 2 == 0 else (second, first)
    bare.append(a)
    recorded.append(b)
m, both = statistics.median, list(zip(recorded, bare))
print("| %s | %.2f s | %.3f | %.3f | %.3f | %s | %.1f MiB of %.0f |" % (
    name, m(a[0] for a in bare), m(b[0] / a[0] for b, a in both), m(b[1] / a[1] for b, a in both),
    min(b[1] for b in recorded) / min(a[1] for a in bare), limit, m(b[2] - a[2] for b, a in both), m(a[2] for a in bare)),
    flush=True)
PY

measure() { python3 "$work/pairs.py" "$pairs" "$@"; }

echo "| program | bare | wall time, ratio | CPU time, ratio | of the least | at most | more memory |"
echo "|---|---|---|---|---|---|---|"
for program in "${programs[@]}"; do
	case $program in
	sqlite) measure 1.03 "sqlite bulk load" sqlite3 :memory: ".read $work/load.sql" ;;
	node) measure 1.05 node node scripts/bench/objects.js ;;
	compiler) measure 1.03 "g++ -O2" g++ -O2 -fpreprocessed -c "$work/shop.ii" -o "$work/shop.o" ;;
	python) measure 1.12 "CPython json loop" /usr/bin/python3 scripts/bench/objects.py ;;
	redis)
		command -v redis-server >/dev/null || { echo "engine.sh: no redis-server" >&2; continue; }
		measure 1.05 "redis under redis-benchmark" bash "$work/redis.sh"
		;;
	malloc) measure 1.30 "malloc and free" "$work/malloc" 20000000 1 ;;
	malloc-4) measure 1.25 "malloc and free, 4 threads" "$work/malloc" 10000000 4 ;;
	esac
done
