#!/usr/bin/env bash
# Checks the C sources of the built-in engine with clang-format and clang-tidy. The tools are
# installed once, into the user's cache; they need Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../engine"
dir=$(../scripts/venv.sh lint-c clang-format==21.1.5 clang-tidy==21.1.6)
"$dir/bin/clang-format" --dry-run -Werror src/*/*.[ch]
printf '%s\n' src/*/*.c | xargs -P "$(nproc)" -n 8 sh -c '"$0" --quiet "$@" -- -std=c11 -ffreestanding -Isrc 2>/dev/null' "$dir/bin/clang-tidy"
