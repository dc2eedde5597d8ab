#!/usr/bin/env bash
# Chases a leak in TensorFlow as a user would: TensorFlow from PyPI runs under `heaplapse record`, and `heaplapse growth` must call the loop that adds nodes to
# its graph a leak, name TensorFlow's function and say what to do, and call neither the same loop on a finalized graph nor the eager one a leak.
# Its output is kept in docs/e2e-tensorflow.txt.
#
# Usage: e2e-tensorflow.sh [WORKDIR]       WORKDIR keeps the virtual environment (1.9 GB) and the recordings
#
# ENGINES="jemalloc tcmalloc" records with each (default: the one that record chooses); REQUIREMENT names another release (tensorflow-cpu==2.16.2);
# PYTHON another interpreter.
# Exit status: 0 as expected; 1 not; 77 skipped: TensorFlow cannot be installed (a failure if CI=true and HEAPLAPSE_FULL=1).
set -euo pipefail
cd "$(dirname "$0")/.."
loops=$PWD/scripts/e2e/loops.py
requirement=${REQUIREMENT:-tensorflow-cpu}
if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
go build -o "$work/heaplapse" ./cmd/heaplapse
cd "$work"

# skip WHAT: without TensorFlow there is nothing to try.
skip() {
	echo "e2e-tensorflow.sh: skipped: $*" >&2
	[ "${CI:-}" = true ] && [ "${HEAPLAPSE_FULL:-}" = 1 ] && exit 1
	exit 77
}

install() {
	[ -x venv/bin/python ] || "${PYTHON:-python3}" -m venv venv || skip "no virtual environment: needs python3 with its venv module (apt-get install python3-venv)"
	venv/bin/python -c 'import importlib.metadata as m; m.version("tensorflow_cpu")' 2>/dev/null ||
		venv/bin/python -m pip install --quiet --disable-pip-version-check "$requirement" >pip.log 2>&1 ||
		skip "$requirement cannot be installed from PyPI: $(grep -a ERROR pip.log | head -n 1)"
}

versions() {
	venv/bin/python -c 'import importlib.metadata as m, platform as p
print("TensorFlow", m.version("tensorflow_cpu") + ", NumPy", m.version("numpy") + ", Python", p.python_version() + ",", p.machine())'
}

say() { printf '\n$ %s\n' "$*"; }

# session LOOP ENGINE: records a loop and judges it. What TensorFlow says on standard error is left out.
session() {
	local out=$1-$2 record=(record -o "$1-$2")
	[ "$2" = auto ] || record+=(--engine "$2")
	rm -rf "$out"
	say heaplapse "${record[@]}" -- python loops.py "$1"
	./heaplapse "${record[@]}" -- venv/bin/python "$loops" "$1" 2>"$out.err" || { cat "$out.err" && return 1; }
	grep -a '^heaplapse: ' "$out.err" | sed 's#venv/bin/##'
	say heaplapse growth "$out"
	./heaplapse growth "$out" >"$out.txt" 2>"$out.warnings"
	cat "$out.warnings" "$out.txt"
}

failed=0
# expect LOOP ENGINE REGEXP WHAT: the first line of the verdict.
expect() {
	if head -n 1 "$1-$2.txt" | grep -Eq "$3"; then
		printf '\nas expected: %s, %s: %s\n' "$1" "$2" "$4"
	else
		printf '\nNOT AS EXPECTED: %s, %s: want %s\n' "$1" "$2" "$4"
		failed=1
	fi
}

install
echo "\$ scripts/e2e-tensorflow.sh"
versions
for engine in ${ENGINES:-auto}; do
	session grows "$engine"
	expect grows "$engine" '^LEAK: (tensorflow::|TF_).* lib(tensorflow|_pywrap).*; next: .*tf\.Graph\.finalize\(\)' "a leak of a TensorFlow function, and the advice to finalize the graph"
	for loop in final eager; do
		session "$loop" "$engine"
		expect "$loop" "$engine" '^NO-LEAK: ' "no leak"
	done
done
exit $failed
