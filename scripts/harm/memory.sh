#!/usr/bin/env bash
# Reads files of each format that need much memory: info and top take at most a tenth more than --max-memory. Needs
# python3 and zstd.
# Usage: memory.sh [WORKDIR [PATTERN]]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
need python3 python3 && need zstd zstd || exit $failed
python3 "$here/memory.py" "$hl" "$work" "${2:-}"
