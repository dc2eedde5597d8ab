#!/usr/bin/env bash
# Finds leaks of PyTorch's and NumPy's memory as a user would. Both are from PyPI and run under
# `heaplapse record`. `heaplapse growth` must report a leak for a list of losses that keep their
# graphs, and for a list of arrays, name the line, and give advice. It must not report a leak for a
# list of numbers. The output is kept in docs/e2e-pytorch.txt.
#
# Usage: e2e-pytorch.sh [WORKDIR]
# WORKDIR keeps the virtual environment (some GB) and the recordings.
#
# REQUIREMENT is another release, such as torch==1.12.1. PYTHON is another interpreter.
# Exit status: 0 as expected; 1 not as expected; 77 PyTorch cannot be installed (1 if CI=true and
# HEAPLAPSE_FULL=1).
set -euo pipefail
here=$(cd "$(dirname "$0")/e2e" && pwd)
# shellcheck source=scripts/e2e/lib.sh
source "$here/lib.sh"
begin "$@"
install torch "${REQUIREMENT:-torch}" numpy

echo "\$ scripts/e2e-pytorch.sh"
versions PyTorch torch NumPy numpy
session losses.py keeps auto
expect keeps auto '^LEAK: .*\blosses\.py:[0-9]+.*; next: PyTorch tensors are kept' "a leak of a line of losses.py, and the advice to keep numbers"
session losses.py arrays auto
expect arrays auto '^LEAK: .*\blosses\.py:[0-9]+.*; next: NumPy arrays are kept' "a leak of a line of losses.py, and the advice to look for what keeps arrays"
session losses.py items auto
expect items auto '^NO-LEAK: ' "no leak"
exit $failed
