#!/usr/bin/env bash
# Makes the pictures of docs/report.md: pages of two bundled series, in headless Chromium. Look at
# each before you commit it. Needs chromium and pngquant.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/heaplapse" ./cmd/heaplapse

# shoot PICTURE URL WIDTH,HEIGHT [0: dark]
shoot() {
	timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 --force-device-scale-factor=1 \
		--window-size="$3" --blink-settings=preferredColorScheme="${4:-1}" --screenshot="$work/$1" "$2" 2>/dev/null
	pngquant --force --output "docs/$1" "$work/$1"
}

for series in leaky python; do
	"$work/heaplapse" report -q testdata/$series --sysroot testdata/$series/sysroot -o "$work/$series.html"
done
shoot report-cpp.png "file://$work/leaky.html" 1300,1930
shoot report-cpp-dark.png "file://$work/leaky.html#t=20&base=4&label=leak,plateaued" 1300,1430 0
shoot report-python.png "file://$work/python.html#site=0" 1300,1480
shoot report-python-dark.png "file://$work/python.html#t=8" 1300,1480 0

"$work/heaplapse" view -q --no-browser testdata/leaky --sysroot testdata/leaky/sysroot >"$work/address" &
server=$!
until [ -s "$work/address" ]; do sleep 0.1; done
shoot view.png "$(cat "$work/address")" 1300,560
ls -l docs/*.png
