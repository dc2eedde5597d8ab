#!/usr/bin/env bash
# Prints the directory of a virtual environment that has Python packages. It is made once, in the
# user's cache; that needs Python 3 and PyPI.
# Usage: venv.sh NAME ARGUMENT… (those of pip install: packages with versions, or -r FILE)
set -euo pipefail
name=$1
shift
files=()
for argument; do [ ! -f "$argument" ] || files+=("$argument"); done
hash=$(cat "${files[@]}" <(printf '%s\n' "$@") <(python3 --version) | sha256sum | cut -c 1-12)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/$name-$hash
if [ ! -e "$dir/complete" ]; then
	echo "venv.sh: installing $* (once)" >&2
	python3 -m venv "$dir"
	"$dir/bin/pip" -q --disable-pip-version-check install "$@"
	touch "$dir/complete"
fi
echo "$dir"
