#!/usr/bin/env bash
# Draws a plan from a seed, writes it down, records it, judges it once, and appends seed and result to docs/blind.md.
#
#   run.sh HEAPLAPSE SEED DIR
#
# DIR/plan.jsonl is there before anything is recorded, and is not drawn again. AT_ONCE is how many programs run together.
set -euo pipefail
cd "$(dirname "$0")"
heaplapse=$1 seed=$2 out=$3
page=../../docs/blind.md

[ -n "$seed" ] || { echo 'run.sh: choose a seed first: make blind SEED=$(date +%s)' >&2; exit 2; }

[ ! -e "$out/result.md" ] || { echo "run.sh: $out has been judged: choose another seed" >&2; exit 1; }
mkdir -p "$out"
if [ ! -e "$out/plan.jsonl" ]; then
	./plan.py "$seed" >"$out/plan.tmp"
	mv "$out/plan.tmp" "$out/plan.jsonl"
	cat >>"$page" <<-EOF

	## Seed $seed

	Plan of $(wc -l <"$out/plan.jsonl") recordings, written on $(date -u +'%Y-%m-%d %H:%M') UTC, before the first of them; commit
	$(git rev-parse --short=12 HEAD). \`sha256sum plan.jsonl\`: \`$(sha256sum "$out/plan.jsonl" | cut -c1-16)…\`.
	EOF
fi
./record.py "$heaplapse" "$out/plan.jsonl" "$out" "${AT_ONCE:-10}"
./judge.py "$heaplapse" "$out/plan.jsonl" "$out" | tee "$out/result.md"
{
	printf '\nRecorded and judged by %s, until %s UTC:\n\n' "$("$heaplapse" --version | head -1)" "$(date -u +'%Y-%m-%d %H:%M')"
	cat "$out/result.md"
} >>"$page"
