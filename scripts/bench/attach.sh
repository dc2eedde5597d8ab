#!/usr/bin/env bash
# Measures what attaching costs: for how long a thread of a running program is stopped (medians and
# the longest of ATTACHES), whether the other threads run on meanwhile, and what a loop costs while it
# is recorded and after detaching (medians of the ratios in RUNS processes). Run it on an idle machine.
# Needs gcc, g++, go, node, python3, redis-server.
# Usage: attach.sh WORKDIR [ATTACHES [RUNS [ROW…]]]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: attach.sh WORKDIR [ATTACHES [RUNS [ROW…]]]}
attaches=${2:-100}
runs=${3:-9}
rows=("${@:4}")
[ ${#rows[@]} -gt 0 ] || rows=(threads epoll python python-4 node redis churn malloc json)
mkdir -p "$work"
work=$(cd "$work" && pwd)
programs=internal/record/attach/testdata
CGO_ENABLED=0 go build -C scripts -o "$work/attach" ./bench/attach
CGO_ENABLED=0 go build -o "$work/heaplapse" ./cmd/heaplapse
g++ -O2 -pthread -o "$work/threads" scripts/bench/threads.cc
gcc -O2 -pthread -o "$work/malloc" scripts/bench/malloc.c
gcc -O2 -pthread -o "$work/waits" "$programs/waits.c"
gcc -O2 -pthread -o "$work/churn" "$programs/churn.c"
gcc -O2 -shared -fPIC -o "$work/plugin.so" "$programs/plugin.c"

cat >"$work/documents.py" <<'PY'
import json, sys, time
document = json.dumps([{"id": i, "name": "n%d" % i, "tags": ["a", "b", str(i)], "text": "x" * 700} for i in range(300)])
for line in sys.stdin:
    kept, before = [], time.monotonic()
    for i in range(1000):
        parsed = json.loads(document)
        if i % 10 == 0:
            kept.append(parsed)
    print("%.6f" % (time.monotonic() - before), flush=True)
PY
cat >"$work/redis.sh" <<'SH'
# Starts redis and keeps it under load until SIGTERM.
redis-server --port 0 --unixsocket "$1/socket" --save "" >"$1/redis.log" &
server=$!
until redis-cli -s "$1/socket" ping >"$1/ping" 2>&1; do sleep 0.05; done
redis-benchmark -s "$1/socket" -q -l -r 20000 -d 200 -t set,lpop,lpush,sadd >"$1/load.log" 2>&1 &
load=$!
trap 'kill $load; redis-cli -s "$1/socket" shutdown nosave; exit' TERM
echo "$server"
echo ready
wait "$server"
SH

# pauses.py ATTACHES LIMIT NAME COUNTERS COMMAND… prints one row of the first table.
cat >"$work/pauses.py" <<'PY'
import json, os, shutil, statistics, subprocess, sys
count, limit, name, counters, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
work = os.path.dirname(os.path.abspath(sys.argv[0]))
program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
pid = program.pid
for line in program.stdout:
    if line == "ready\n":
        break
    pid = int(line)
results = []
for i in range(count):
    out = work + "/out"
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    args = [work + "/attach", str(pid), out, "20ms"] + ([counters] if counters != "-" else [])
    results.append(json.loads(subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout))
with open(work + "/" + name.replace(" ", "-").replace(",", "") + ".json", "w") as f:
    json.dump(results, f)
program.terminate()
program.wait()
pauses = [r["pause"] for r in results]
others = "–"
if counters != "-":
    # The thread that was stopped counted least.
    moved = [sum(n > 0 for n in r["counted"]) for r in results]
    others = "others counted in %d of %d" % (sum(m >= 1 for m in moved), count)
print("| %s | %d | %.2f ms | %s | %.2f ms | %.1f | %s |" % (name, count, statistics.median(pauses), limit,
      max(r["longest"] for r in results), statistics.mean(r["looks"] for r in results), others), flush=True)
PY

# cost.py RUNS LIMIT NAME COMMAND… prints one row of the second table.
cat >"$work/cost.py" <<'PY'
import os, shutil, signal, statistics, subprocess, sys
runs, limit, name, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
work = os.path.dirname(os.path.abspath(sys.argv[0]))

class Loop:
    def __init__(self):
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def seconds(self):
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        return float(self.program.stdout.readline())
    def end(self):
        self.program.stdin.close()
        self.program.wait()

# measure runs the loop in two processes by turns, and attaches to one of them. The other tells how
# fast the machine is at the moment.
def measure():
    a, b = Loop(), Loop()
    bare = []
    def ratio(turns=7):
        a.seconds(), b.seconds()
        ratios = []
        for i in range(turns):
            first, second = (a, b) if i % 2 == 0 else (b, a)
            took = {first: first.seconds()}
            took[second] = second.seconds()
            bare.append(took[a])
            ratios.append(took[b] / took[a])
        return statistics.median(ratios)
    before = ratio()
    out = work + "/out"
    shutil.rmtree(out, ignore_errors=True)
    heaplapse = subprocess.Popen([work + "/heaplapse", "attach", str(b.program.pid), "-o", out], stderr=subprocess.PIPE, text=True)
    for line in heaplapse.stderr:
        if "go to" in line:
            break
    attached = ratio()
    heaplapse.send_signal(signal.SIGINT)
    rest = heaplapse.stderr.read()
    if heaplapse.wait() != 0:
        sys.exit(rest)
    detached = ratio()
    a.end(), b.end()
    return statistics.median(bare), attached / before, detached / before

results = [measure() for _ in range(runs)]
m = [statistics.median(column) for column in zip(*results)]
spread = ["%.3f–%.3f" % (min(c), max(c)) for c in zip(*results)]
print("| %s | %d | %.2f s | %.3f (%s) | %s | %.3f (%s) | 1.02 |" % (
    name, runs, m[0], m[1], spread[1], limit, m[2], spread[2]), flush=True)
PY

pauses() { python3 "$work/pauses.py" "$attaches" "$@"; }
cost() { python3 "$work/cost.py" "$runs" "$@"; }

echo "| program | attached | one thread stopped, median | at most | longest (at most 50 ms) | looks | other threads |"
echo "|---|---|---|---|---|---|---|"
for row in "${rows[@]}"; do
	case $row in
	threads) pauses "5 ms" "C++, 4 allocating threads" "$work/counters" "$work/threads" "$work/counters" ;;
	epoll) pauses "1 ms" "waits in epoll_wait" - "$work/waits" epoll ;;
	python) pauses "5 ms" "CPython, busy" - /usr/bin/python3 "$programs/busy.py" 1 ;;
	python-4) pauses "5 ms" "CPython, 4 busy threads" - /usr/bin/python3 "$programs/busy.py" 4 ;;
	node) pauses "5 ms" "Node, busy" - node "$programs/busy.js" ;;
	redis) pauses "5 ms" "redis under load" - bash "$work/redis.sh" "$work" ;;
	churn) pauses "5 ms" "dlopen, threads, forks, 1 kHz of signals" - "$work/churn" "$work/plugin.so" ;;
	esac
done
echo
echo "| loop | processes | bare | attached ÷ bare | at most | detached ÷ bare | at most |"
echo "|---|---|---|---|---|---|---|"
for row in "${rows[@]}"; do
	case $row in
	malloc) cost 1.30 "malloc and free" "$work/malloc" 16000000 ask ;;
	json) cost 1.15 "CPython json loop" /usr/bin/python3 "$work/documents.py" ;;
	esac
done
