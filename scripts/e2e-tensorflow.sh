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
here=$(cd "$(dirname "$0")/e2e" && pwd)
# shellcheck source=scripts/e2e/lib.sh
source "$here/lib.sh"
begin "$@"
install tensorflow_cpu "${REQUIREMENT:-tensorflow-cpu}"

# build_op builds the custom operation.
build_op() {
	local flags
	mapfile -t flags < <(venv/bin/python -c 'import tensorflow as tf
print(*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags(), sep="\n")' 2>/dev/null)
	g++ -w -O1 -g1 -shared -fPIC -o leaky_op.so "$here/leaky_op.cc" "${flags[@]}"
}

build_op
echo "\$ scripts/e2e-tensorflow.sh"
versions TensorFlow tensorflow_cpu NumPy numpy
for engine in ${ENGINES:-auto}; do
	session loops.py grows "$engine"
	case $engine in
	auto | builtin) expect grows "$engine" '^LEAK: .*\bloops\.py:[0-9]+.*; next: .*tf\.Graph\.finalize\(\)' "a leak of a line of loops.py, and the advice to finalize the graph" ;;
	*) expect grows "$engine" '^LEAK: (tensorflow::|TF_).* lib(tensorflow|_pywrap).*; next: .*tf\.Graph\.finalize\(\)' "a leak of a TensorFlow function, and the advice to finalize the graph" ;;
	esac
	session loops.py op "$engine"
	case $engine in
	auto | builtin) expect op "$engine" '^LEAK: LeakySumOp::Keep leaky_op\.cc:[0-9]+ \(called from .*\bloops\.py:[0-9]+\)' "a leak of a line of leaky_op.cc, and the line of loops.py that called it" ;;
	*) expect op "$engine" '^LEAK: LeakySumOp::Keep leaky_op\.cc:[0-9]+' "a leak of a line of leaky_op.cc" ;;
	esac
	for loop in final eager; do
		session loops.py "$loop" "$engine"
		expect "$loop" "$engine" '^NO-LEAK: ' "no leak"
	done
done
exit $failed
