#!/usr/bin/env bash
# Makes docs/pprof-flamegraph.png: pprof's flame graph of a converted snapshot, in headless Chromium.
# Needs chromium (Debian package chromium).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
make -s build
bin/heaplapse convert testdata/leaky --sysroot testdata/leaky/sysroot -o "$work/out" >/dev/null
go build -o "$work/pprof" github.com/google/pprof
(cd "$work" && exec ./pprof -http=127.0.0.1:8099 -no_browser out/leaky.0024.pb.gz) >/dev/null 2>&1 &
server=$!
sleep 3
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
	--disable-component-update --disable-sync --user-data-dir="$work/chromium" --window-size=1400,500 \
	--virtual-time-budget=5000 --screenshot=docs/pprof-flamegraph.png http://127.0.0.1:8099/ui/flamegraph
