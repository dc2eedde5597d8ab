#!/usr/bin/env bash
# Records a musl program of two threads that allocate, again and again, several at a time: none dies.
# Attaching to it is refused, and it goes on. Needs musl-gcc.
# Usage: musl.sh [WORKDIR [RECORDINGS [AT_A_TIME]]]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
times=${2:-1000} parallel=${3:-6}
need musl-gcc musl-tools || exit $failed
musl-gcc -O1 -g -pthread -o server "$here/musl.c" || exit

# one N records once, and fails unless the program ended by SIGTERM from --duration with snapshots.
one() {
	timeout 60 "$hl" record -q --engine builtin --duration 1500ms -o "out$1" -- ./server >"log$1" 2>&1
	local status=$?
	if [ $status != 143 ] || ! compgen -G "out$1/*.heap*" >/dev/null; then
		echo "recording $1: status $status: $(tail -n 1 "log$1")"
	fi
	rm -rf "out$1" "log$1"
}
export hl
export -f one
bad=$(seq "$times" | xargs -P "$parallel" -I{} bash -c 'one {}' 2>/dev/null)
[ -z "$bad" ]
say "$times recordings of a musl program, $parallel at a time" $? "${bad:-none died}"

./server &
server=$!
sleep 0.5
said=$("$hl" attach -q -o attached --duration 1s $server 2>&1)
status=$?
kill -0 $server && [ $status = 126 ]
say "attach to a musl program is refused" $? "status $status: $said"
kill $server
wait $server 2>/dev/null
exit $failed
