#!/usr/bin/env bash
# Measures what a sample costs on the stacks of coroutines: microseconds for an allocation of 130,000 bytes, on the stack of
# a thread and on that of a coroutine, alone and recorded. Needs g++ and, for each library that is there, libboost-context-dev,
# libboost-fiber-dev, libboost-coroutine-dev, libpth-dev, python3-greenlet, ruby. Usage: coroutines.sh WORKDIR
set -euo pipefail
mkdir -p "$1"
work=$(realpath "$1")
cd "$(dirname "$0")/../.."
go build -o "$work/heaplapse" ./cmd/heaplapse
here=$PWD/scripts/bench/coroutines
cd "$work"

# row NAME COMMAND…: runs a program alone and recorded.
row() {
	local name=$1 alone recorded
	shift
	alone=$("$@" | cut -d' ' -f2 | paste -sd' ')
	recorded=$(./heaplapse record -q --replace -o heap -- "$@" | cut -d' ' -f2 | paste -sd' ')
	echo "| $name | ${alone/ / | } | ${recorded/ / | } |"
}

echo "| library | thread, alone | coroutine, alone | thread, recorded | coroutine, recorded |"
echo "|---|---|---|---|---|"
for library in "ucontext UCONTEXT" "Boost.Context BOOST_CONTEXT -lboost_context" \
	"Boost.Coroutine2 BOOST_COROUTINE -lboost_coroutine -lboost_context" \
	"Boost.Fiber BOOST_FIBER -lboost_fiber -lboost_context" "Pth PTH -lpth"; do
	read -r name macro flags <<<"$library"
	# shellcheck disable=SC2086 # several flags
	if g++ -O1 -g -std=c++17 -pthread "-D$macro" -o "$macro" "$here/program.cc" $flags 2>/dev/null; then
		row "$name" "./$macro"
	fi
done
if /usr/bin/python3 -c 'import greenlet' 2>/dev/null; then row greenlet /usr/bin/python3 "$here/greenlets.py"; fi
if command -v ruby >/dev/null; then row "Ruby's fibers" ruby "$here/fibers.rb"; fi
