#!/usr/bin/env bash
# Forks, under record and under attach, in programs with libraries whose handlers of fork allocate, lock or wait for
# threads: none hangs, and no child fails. Each program runs alone first. Needs gcc, libopenblas-dev,
# libjemalloc-dev, and grpcio from PyPI.
# Usage: forks.sh [WORKDIR [FORKS [WORKERS]]]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
forks=${2:-4000} workers=${3:-400} patience=1200
need gcc gcc || exit $failed
build() { gcc -O1 -g -pthread -w -o "$1" "${@:2:1}" "$here/forks.c" "${@:3}" 2>"$1.log" || { skip "$1: $(head -n 1 "$1.log")" && return 1; }; }

# alone NAME COMMAND… runs a program without heaplapse.
alone() {
	timeout $patience "${@:2}" >/dev/null 2>err
	say "$1, alone" $? "$(grep -a bad err)"
}

# recorded NAME COMMAND… runs a program under record.
recorded() {
	rm -rf out
	timeout -k 9 $patience "$hl" record -q --sample-period 512 --every 100ms -o out -- "${@:2}" >/dev/null 2>err
	say "$1, recorded" $? "$(grep -a bad err), $(snapshots)"
}

# attached NAME COMMAND… attaches to a program before it forks.
attached() {
	rm -rf out
	coproc PROGRAM { exec timeout -k 9 $patience "${@:2}" wait 2>err; }
	local program=$PROGRAM_PID out=${PROGRAM[0]} in=${PROGRAM[1]} pid attach
	read -r _ <&"$out"
	pid=$(pgrep -P "$program")
	"$hl" attach -q --sample-period 512 --every 100ms -o out "$pid" 2>attach.err &
	attach=$!
	until [ -e out ] && compgen -G 'out/*.events.jsonl' >/dev/null || ! kill -0 $attach 2>/dev/null; do sleep 0.1; done
	echo >&"$in"
	wait "$program"
	say "$1, attached to" $? "$(grep -a bad err), $(snapshots)$(grep -h ^heaplapse attach.err | head -n 1)"
	wait $attach
}

snapshots() { echo "$(find out -name '*.heap*' 2>/dev/null | wc -l) snapshots"; }

all() {
	alone "$@"
	recorded "$@"
	attached "$@"
}

build plain -O1 && all "no library" ./plain "$forks"
build openblas -DOPENBLAS -lopenblas && all OpenBLAS ./openblas "$forks"
build gomp -DGOMP -fopenmp && all libgomp ./gomp "$forks"
build jemalloc -O1 -Wl,--no-as-needed -ljemalloc && all "jemalloc, shared" ./jemalloc "$forks"
build jemalloc-static -O1 -Wl,-Bstatic -ljemalloc -Wl,-Bdynamic -lm -lstdc++ && all "jemalloc, linked in" ./jemalloc-static "$forks"

python=${PYTHON:-}
[ -n "$python" ] || { venv=$("$here/../venv.sh" harm grpcio 2>pip.log) && python=$venv/bin/python; }
if [ -n "$python" ]; then
	all "gRPC for Python, prefork" "$python" "$here/prefork.py" "$workers"
else
	skip "gRPC: $(tail -n 1 pip.log)"
fi
exit $failed
