#!/usr/bin/env bash
# Records the programs of testdata/services and testdata/traces again and again, and counts how many of
# their leaks `heaplapse growth` finds, and how often it calls something else a leak.
#
# Usage: scripts/bench/leaks.sh WORKDIR [KIND…]
#
# Kinds: go go-quiet node node-quiet heaptrack massif (default: all). WORKDIR keeps the recordings; what
# is there is not recorded again, so that another version of heaplapse can be compared on the same
# recordings. It prints a line for each recording, and a table of the kinds.
#
# The cache of the Go program is full after 1,662 requests for pages, some 21 seconds at full speed. On
# a busy machine that takes longer: "full at" is its share of the series. A cache that fills until the
# end cannot be told from a leak, so a control counts only if it is at most 2/3.
#
# Environment, with defaults: ROUNDS=10 (recordings of each kind) JOBS=2 (at the same time)
# SCRAPES=24 EVERY=2 (of the Go program, in seconds)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
rounds=${ROUNDS:-10} jobs=${JOBS:-2} scrapes=${SCRAPES:-24} every=${EVERY:-2}

. "$here/lib.sh"
[ $# -ge 1 ] || die "usage: leaks.sh WORKDIR [KIND…]"
mkdir -p "$1"
work=$(cd "$1" && pwd)
shift
kinds=("$@")
[ $# -gt 0 ] || kinds=(go go-quiet node node-quiet heaptrack massif)
need go python3 curl node npm g++ heaptrack valgrind

(cd "$repo/testdata/services/src/go" && go build -trimpath -o "$work/shopd" .)
if [ ! -d "$work/app/node_modules" ]; then
	mkdir -p "$work/app"
	cp "$repo"/testdata/services/src/node/* "$work/app/"
	(cd "$work/app" && npm install --silent --no-package-lock)
fi
g++ -std=c++17 -O2 -g -pthread "$repo/testdata/traces/src/shop.cc" -o "$work/shop"
make -s -C "$repo" build

# record_go OUT PORT [quiet] scrapes the server. Its last argument makes it leak nothing.
record_go() {
	local out=$1 at=127.0.0.1:$2
	shift 2
	"$work/shopd" serve "$at" "$@" 2>"$out.log" &
	local server=$!
	until curl -sf -o /dev/null "http://$at/debug/pprof/cmdline"; do sleep 0.1; done
	"$work/shopd" load "$at" 100000 2>/dev/null &
	local load=$!
	"$repo/bin/heaplapse" scrape -q "http://$at" -o "$out.part" --no-goroutines --every "${every}s" \
		--duration "$((scrapes * every))s" >/dev/null || true
	kill "$load" "$server"
	wait "$load" "$server" 2>/dev/null || true
}

# record KIND ROUND
record() {
	local out=$work/$1/$2
	[ ! -e "$out" ] || return 0
	rm -rf "$out.part"
	mkdir -p "$work/$1"
	case $1 in
	go) record_go "$out" "$((6200 + $2))" ;;
	go-quiet) record_go "$out" "$((6300 + $2))" quiet ;;
	node | node-quiet)
		mkdir "$out.part"
		(cd "$work/app" && node --expose-gc shop.js "$out.part" "$scrapes" "${1#node-}" >/dev/null)
		;;
	heaptrack)
		heaptrack -o "$out.part" "$work/shop" 24 >/dev/null 2>&1
		mv "$out.part".* "$out.part"
		;;
	massif)
		valgrind -q --tool=massif --massif-out-file="$out.part" --detailed-freq=1 --threshold=0 --time-unit=B \
			--fullpath-after= "$work/shop" 24 >/dev/null
		;;
	esac
	mv "$out.part" "$out"
}

say "recording ${kinds[*]}, $rounds each"
for round in $(seq 1 "$rounds"); do
	for kind in "${kinds[@]}"; do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
		record "$kind" "$round" &
	done
done
wait
"$here/leaks.py" "$repo/bin/heaplapse" "$work" "$rounds" "${kinds[@]}"
