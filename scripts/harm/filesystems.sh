#!/usr/bin/env bash
# Records a program, and attaches to one, while the file system of the output is frozen, does not answer, is full, is
# made read-only or is removed: at the start, in the middle, and just before the program ends; by itself, by SIGTERM,
# after exec, and forking. It ends in its own time and 2 s. Needs root, gcc, and python3-fusepy.
# Usage: filesystems.sh [WORKDIR [AT_A_TIME [PATTERN]]]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
need gcc gcc && need fsfreeze util-linux && need mkfs.ext4 e2fsprogs || exit $failed
if [ "$(id -u)" != 0 ]; then
	skip "file systems: needs root"
	exit $failed
fi
gcc -O1 -g -o worker "$here/worker.c" && python3 "$here/filesystems.py" "$hl" "$work/worker" "$work" "${2:-6}" "${3:-}"
