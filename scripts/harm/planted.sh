#!/usr/bin/env bash
# Records as root into a directory of another user, who plants links to a file of root, or FIFOs, under the names that
# come next: the file stays as it is, and the program ends in time. Needs root, gcc, setpriv, python3.
# Usage: planted.sh [WORKDIR]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
need gcc gcc && need setpriv util-linux && need python3 python3 || exit $failed
if [ "$(id -u)" != 0 ]; then
	skip "planted: needs root"
	exit $failed
fi
chmod 755 .
gcc -O1 -g -pthread -o program "$here/payload.c" || exit
cp "$here/planted.py" .
stranger() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

for engine in builtin tcmalloc jemalloc; do
	"$hl" record --or-fail -q --engine $engine -o try -- true 2>err || { skip "$engine: $(head -n 1 err)"; rm -rf try && continue; }
	for what in "$work/precious" fifo; do
		rm -rf try theirs
		mkdir theirs && chown 65534:65534 theirs
		echo precious >precious && chmod 600 precious
		stranger /usr/bin/python3 planted.py "$work/theirs" "$what" 8 &
		planter=$!
		timeout -k 9 60 "$hl" record -q --engine $engine --every 100ms -o theirs -- ./program >out 2>err
		status=$?
		wait $planter
		[ $status = 3 ] && grep -q sum out && [ "$(cat precious)" = precious ]
		say "$engine, $([ "$what" = fifo ] && echo FIFOs || echo links)" $? \
			"status $status, $(find theirs -type f -name '*.heap*' | wc -l) snapshots, $(find theirs -type l -o -type p | wc -l) planted$(grep -h '^heaplapse' err | head -n 1 | sed 's/^/; /')"
	done
done
rm -rf theirs
exit $failed
