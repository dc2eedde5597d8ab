#!/usr/bin/env bash
# Makes the pictures of docs in headless Chromium: pages of three bundled series, pprof's web UI, pprof's
# flame graph, and the gate's summary of a run with a new leak. Look at each before you commit it. Needs chromium,
# fonts-noto-color-emoji, pngquant, cmark-gfm, g++ and libgoogle-perftools4.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/heaplapse" ./cmd/heaplapse

# shoot PICTURE URL WIDTH,HEIGHT [0: dark]
shoot() {
	timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 --force-device-scale-factor=1 \
		--user-data-dir="$work/chromium" --window-size="$3" --blink-settings=preferredColorScheme="${4:-1}" --screenshot="$work/$1" "$2" 2>/dev/null
	pngquant --force --output "docs/$1" "$work/$1"
}

# --- the page of heaplapse report ---
"$work/heaplapse" report -q testdata/leaky --sysroot testdata/leaky/sysroot -o "$work/leaky.html"
# The functions of CPython get their names from python3 of Debian 12, where these series were recorded.
mkdir "$work/lines" # a checkout is newer than the recording
cp testdata/lines/app.py "$work/lines"
touch -d 2020-01-01 "$work/lines/app.py"
"$work/heaplapse" report -q testdata/lines --source-root "$work/lines" -o "$work/lines.html"
"$work/heaplapse" report -q testdata/workers/leak --source-root testdata/workers -o "$work/workers.html"
shoot report-cpp.png "file://$work/leaky.html" 1300,1890
shoot report-cpp-dark.png "file://$work/leaky.html#t=20&base=4&label=leak,plateaued" 1300,1400 0
shoot report-python.png "file://$work/lines.html#site=0" 1300,1900
shoot report-python-dark.png "file://$work/workers.html" 1300,2330 0

# --- heaplapse view ---
"$work/heaplapse" view -q --no-browser testdata/leaky --sysroot testdata/leaky/sysroot >"$work/address" &
servers+=($!)
until [ -s "$work/address" ]; do sleep 0.1; done
shoot view.png "$(cat "$work/address")" 1300,560

# --- pprof's own UI on a converted snapshot ---
"$work/heaplapse" convert -q testdata/leaky --sysroot testdata/leaky/sysroot -o "$work/profiles" >/dev/null
go build -o "$work/pprof" github.com/google/pprof
"$work/pprof" -http=127.0.0.1:8099 -no_browser "$work/profiles/leaky.0024.pb.gz" >/dev/null 2>&1 &
servers+=($!)
until (: </dev/tcp/127.0.0.1/8099) 2>/dev/null; do sleep 0.1; done
shoot pprof-flamegraph.png http://127.0.0.1:8099/ui/flamegraph 1400,500

# --- heaplapse gate: six good runs, of which the first is the reference run, and one that leaks ---
# shop PROGRAM SEED records one run.
shop() {
	(cd "$work" && ./heaplapse record -q --engine tcmalloc --every 500ms -o "run$2" -- "$1/shopd" "$2" 12 500 >/dev/null)
}
for build in good leaking; do
	mkdir "$work/$build"
	cp testdata/planted/src/* "$work/$build"
done
(cd "$work/leaking" && git init -q && git apply -p1 "$root/testdata/planted/variants/new-leak.patch")
for build in good leaking; do
	(cd "$work/$build" && g++ -O2 -g -o shopd ./*.cc -ldl)
done
for seed in 1 2 3 4 5 6; do
	shop good $seed
	pin=()
	[ $seed != 1 ] || pin=(--pin)
	"$work/heaplapse" baseline save -q "$work/baselines" "$work/run$seed" --workload shop "${pin[@]}" >/dev/null
done
shop leaking 7
(cd "$work" && ./heaplapse gate -q --baseline baselines --current run7 --workload shop -o /dev/null -o markdown=gate.md) || [ $? = 1 ]
{
	cat <<-'END'
		<!doctype html><meta charset=utf-8><style>
		body { font: 14px/1.5 sans-serif; color: #1f2328; margin: 24px; max-width: 852px }
		h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: 8px } table { border-collapse: collapse; width: 100% }
		th, td { border: 1px solid #d1d9e0; padding: 6px 13px } tr:nth-child(2n) { background: #f6f8fa }
		details { margin-top: 16px } code { background: #eff1f3; border-radius: 6px; padding: 2px 5px; font-size: 12px }
		</style>
	END
	cmark-gfm --unsafe -e table "$work/gate.md" | sed '0,/<details>/s//<details open>/'
} >"$work/gate.html"
shoot gate-summary.png "file://$work/gate.html" 900,760
ls -l docs/*.png
