#!/usr/bin/env bash
# Finds a leak in TensorFlow as a user would. TensorFlow from PyPI runs under `heaplapse record`.
# `heaplapse growth` must report a leak for the loop that adds nodes to its graph, name its line (or,
# with tcmalloc and jemalloc, TensorFlow's function) and give advice. It must name the line of a
# leak in the library of a custom operation. It must not report a leak for the same loop on a
# finalized graph, or for the eager loop. The output is kept in docs/e2e-tensorflow.txt. Needs g++.
#
# Usage: e2e-tensorflow.sh [WORKDIR]
# WORKDIR keeps the virtual environment (1.9 GB) and the recordings.
#
# ENGINES="jemalloc tcmalloc" records with each engine (default: the one that record chooses).
# REQUIREMENT is another release, such as tensorflow-cpu==2.16.2. PYTHON is another interpreter.
# Exit status: 0 as expected; 1 not as expected; 77 TensorFlow cannot be installed (1 if CI=true and
# HEAPLAPSE_FULL=1).
set -euo pipefail
cd "$(dirname "$0")/.."
loops=$PWD/scripts/e2e/loops.py
source=$PWD/scripts/e2e/leaky_op.cc
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

# skip REASON ends the script without a result.
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

# build_op builds the custom operation.
build_op() {
	local flags
	mapfile -t flags < <(venv/bin/python -c 'import tensorflow as tf
print(*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags(), sep="\n")' 2>/dev/null)
	g++ -w -O1 -g1 -shared -fPIC -o leaky_op.so "$source" "${flags[@]}"
}

versions() {
	venv/bin/python -c 'import importlib.metadata as m, platform as p
print("TensorFlow", m.version("tensorflow_cpu") + ", NumPy", m.version("numpy") + ", Python", p.python_version() + ",", p.machine())'
}

say() { printf '\n$ %s\n' "$*"; }

# session LOOP ENGINE records a loop and judges it. TensorFlow's messages on standard error are left
# out.
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
# expect LOOP ENGINE REGEXP WHAT checks the first line of growth's output.
expect() {
	if head -n 1 "$1-$2.txt" | grep -Eq "$3"; then
		printf '\nas expected: %s, %s: %s\n' "$1" "$2" "$4"
	else
		printf '\nNOT AS EXPECTED: %s, %s: want %s\n' "$1" "$2" "$4"
		failed=1
	fi
}

install
build_op
echo "\$ scripts/e2e-tensorflow.sh"
versions
for engine in ${ENGINES:-auto}; do
	session grows "$engine"
	case $engine in
	auto | builtin) expect grows "$engine" '^LEAK: .*\bloops\.py:[0-9]+.*; next: .*tf\.Graph\.finalize\(\)' "a leak of a line of loops.py, and the advice to finalize the graph" ;;
	*) expect grows "$engine" '^LEAK: (tensorflow::|TF_).* lib(tensorflow|_pywrap).*; next: .*tf\.Graph\.finalize\(\)' "a leak of a TensorFlow function, and the advice to finalize the graph" ;;
	esac
	session op "$engine"
	case $engine in
	auto | builtin) expect op "$engine" '^LEAK: LeakySumOp::Keep leaky_op\.cc:[0-9]+ \(called from .*\bloops\.py:[0-9]+\)' "a leak of a line of leaky_op.cc, and the line of loops.py that called it" ;;
	*) expect op "$engine" '^LEAK: LeakySumOp::Keep leaky_op\.cc:[0-9]+' "a leak of a line of leaky_op.cc" ;;
	esac
	for loop in final eager; do
		session "$loop" "$engine"
		expect "$loop" "$engine" '^NO-LEAK: ' "no leak"
	done
done
exit $failed
