#!/usr/bin/env bash
# Measures recordings. The first table has wall time, CPU time and peak resident memory of programs
# without recording, under record with each engine, and under heaptrack. The second one has the size
# of the last snapshot of the same programs, and the error of sites of 10 MiB. Needs gcc, g++, python3,
# redis-server, rustc, node, heaptrack: those that the chosen programs and WAYS use. The programs torch
# and tensorflow need a PYTHON that has them.
# Usage: [WAYS="bare builtin …"] record.sh WORKDIR [ROUNDS [PROGRAM…]]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: record.sh WORKDIR [ROUNDS [PROGRAM…]]}
rounds=${2:-3}
programs=("${@:3}")
[ ${#programs[@]} -gt 0 ] || programs=(python compiler redis rust node)
read -ra ways <<<"${WAYS:-bare builtin jemalloc tcmalloc heaptrack}"
mkdir -p "$work"
work=$(cd "$work" && pwd)
go build -o "$work/heaplapse" ./cmd/heaplapse
for program in "${programs[@]}"; do
	case $program in
	compiler) g++ -E scripts/bench/shop.cc -o "$work/shop.ii" && compiler=$(g++ -print-prog-name=cc1plus) ;;
	rust) rustc -O -C debuginfo=1 scripts/bench/orders.rs -o "$work/orders" ;;
	esac
done
gcc -O1 -g -o "$work/sites" scripts/bench/sites.c

cat >"$work/train_torch.py" <<'PY'
# Trains a small network.
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(100, 200), torch.nn.ReLU(), torch.nn.Linear(200, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for i in range(4000):
    loss = model(torch.randn(32, 100)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
PY

cat >"$work/train_tensorflow.py" <<'PY'
# Trains a small network, step by step.
import tensorflow as tf
a, b = tf.Variable(tf.random.normal([100, 200])), tf.Variable(tf.random.normal([200, 1]))
for i in range(2000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.random.normal([32, 100]) @ a) @ b))
    for variable, gradient in zip((a, b), tape.gradient(loss, (a, b))):
        variable.assign_sub(gradient * 0.0001)
PY

rm -f "$work"/train_*.py.rss
for program in torch tensorflow; do
	cat >>"$work/train_$program.py" <<-'PY'
	with open(__file__ + ".rss", "a") as out:  # KiB that are anonymous, and KiB of mapped files
	    print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith(("RssAnon", "RssFile"))), file=out)
	PY
done

# measure.py COMMAND… prints the wall time and the CPU time in seconds, and the peak resident set of
# the largest process in MiB.
cat >"$work/measure.py" <<'PY'
import os, resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wall, use = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f %.2f %.0f" % (wall, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024))
PY

# redis.sh PREFIX… starts a server with a command prefix and sends requests to it.
cat >"$work/redis.sh" <<'SH'
dir=$(mktemp -d)
"$@" redis-server --port 0 --unixsocket "$dir/s" --save "" --daemonize no >/dev/null 2>&1 &
until redis-cli -s "$dir/s" ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s "$dir/s" -q -n 60000 -r 20000 -d 200 -t set,lpush,sadd >/dev/null
redis-cli -s "$dir/s" shutdown nosave >/dev/null 2>&1
wait $!
rm -rf "$dir"
SH

# run PROGRAM PREFIX… runs a program with a command prefix and prints the measurements.
run() {
	local program=$1
	shift
	rm -rf "$work/out" "$work"/heaptrack.*
	case $program in
	python) python3 "$work/measure.py" "$@" /usr/bin/python3 scripts/bench/objects.py ;;
	compiler) python3 "$work/measure.py" "$@" "$compiler" -quiet -fpreprocessed -O1 "$work/shop.ii" -o /dev/null ;;
	redis) python3 "$work/measure.py" bash "$work/redis.sh" "$@" ;;
	rust) python3 "$work/measure.py" "$@" "$work/orders" 1000000 ;;
	node) python3 "$work/measure.py" "$@" node scripts/bench/objects.js ;;
	torch | tensorflow) python3 "$work/measure.py" "$@" "${PYTHON:-python3}" "$work/train_$program.py" ;;
	esac
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# under TOOL sets prefix to the command prefix of a tool.
under() {
	case $1 in
	bare) prefix=() ;;
	builtin | jemalloc | tcmalloc) prefix=("$work/heaplapse" record -q -o "$work/out" --engine "$1" --) ;;
	heaptrack) prefix=(heaptrack --raw -o "$work/heaptrack.out") ;;
	esac
}

printf '| program |' && printf ' %s |' "${ways[@]}" && printf '\n|---|' && printf -- '---|%.0s' "${ways[@]}" && echo
for program in "${programs[@]}"; do
	row="| $program |"
	for way in "${ways[@]}"; do
		under "$way"
		: >"$work/runs"
		for ((i = 0; i < rounds; i++)); do run "$program" "${prefix[@]}" >>"$work/runs"; done
		row+=" $(cut -d" " -f1 "$work/runs" | median) / $(cut -d" " -f2 "$work/runs" | median) s / $(cut -d" " -f3 "$work/runs" | median) MiB |"
	done
	echo "$row"
done

# last_snapshot prints the size of the largest snapshot of a recording as the engine writes it and as
# it is stored, and the number of its stacks.
last_snapshot() {
	local file
	file=$(find "$work/out" -name '*.heap*' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
	echo "$(zcat -f "$file" | wc -c) $(stat -c %s "$file") $(zcat -f "$file" | grep -cE "^ *[0-9]+: [0-9]+ \\[|^@ 0x")"
}

# errors prints the root mean square of the relative errors of the sites in a recording of sites, and
# the largest one.
errors() {
	"$work/heaplapse" top "$work/out" --format json --top 1000 2>/dev/null | python3 -c '
import json, math, sys
truth = (10 << 20) // 400 * 400
found = {r["function"]: r["flat"] for r in json.load(sys.stdin)["rows"] if r["function"].startswith("site_")}
errors = [found.get("site_%d" % i, 0) / truth - 1 for i in range(20)]
print("%.1f %%, %.1f %% at most" % (math.sqrt(sum(e * e for e in errors) / 20) * 100, max(map(abs, errors)) * 100))'
}

echo
printf '| bytes, bytes stored, stacks |' && printf ' %s |' "${programs[@]}" && echo ' error of 20 sites of 10 MiB |'
printf '|---|' && printf -- '---|%.0s' "${programs[@]}" && echo '---|'
for engine in "${ways[@]}"; do
	case $engine in bare | heaptrack) continue ;; esac
	row="| $engine |"
	under "$engine"
	for program in "${programs[@]}"; do
		run "$program" "${prefix[@]}" >/dev/null
		row+=" $(last_snapshot) |"
	done
	rm -rf "$work/out"
	"${prefix[@]}" "$work/sites"
	echo "$row $(errors) |"
done
