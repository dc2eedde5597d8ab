#!/usr/bin/env bash
# Programs that wait with time limits, or for calls that a stop can end early, while heaplapse looks at them and attaches to
# them again and again: each call returns what it would without that, and in time. A signal ends a wait. Needs gcc.
# Usage: waits.sh [WORKDIR [SECONDS]]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
seconds=${2:-10}
need gcc gcc || exit $failed
gcc -O1 -pthread -o waits "$here/waits.c" || exit

# beside NAME COMMAND… starts the program and runs the command with its number again and again until it ends.
beside() {
	local times=0 status
	./waits "$seconds" >result &
	local program=$!
	sleep 0.3
	while kill -0 $program 2>/dev/null; do
		"${@:2}" $program >/dev/null 2>err && times=$((times + 1))
		sleep 0.2
	done
	wait $program
	status=$?
	[ $times -gt 0 ] || status=1
	say "$1" $status "$times times$(sed 's/^/; /' result | tr '\n' ' ')"
}

attach_once() { rm -rf out && "$hl" attach -q --no-holders --duration 1s -o out "$1"; }

./waits "$seconds" >result
say "alone" $? "$(tr '\n' ' ' <result)"
rm -rf out
"$hl" record -q --holders-every 500ms -o out -- ./waits "$seconds" >result
say "recorded, with looks" $? "$(tr '\n' ' ' <result)"
beside "looked at" "$hl" holders -q
beside "attached to" attach_once
exit $failed
