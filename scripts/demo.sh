#!/usr/bin/env bash
# Shows which sites grow in a bundled series, and writes pprof files that open without the binaries.
# Needs Go only. Usage: demo.sh BINARY OUTDIR
set -euo pipefail
heaplapse=$1 out=$2
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
series=testdata/leaky sysroot=testdata/leaky/sysroot

say() { printf '\n$ %s\n' "$*"; }

say heaplapse growth $series --sysroot $sysroot
"$heaplapse" growth $series --sysroot $sysroot

mkdir -p "$out"
say heaplapse convert $series --sysroot $sysroot -o "$out"
"$heaplapse" convert $series --sysroot $sysroot -o "$out" >"$out/files.txt"
last=$(tail -n 1 "$out/files.txt")
echo "$(wc -l <"$out/files.txt") files, the last one is $last"

# In a directory without the binaries: the profile has the names, files and lines.
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
say go tool pprof -top -lines -nodecount=8 "$last"
(cd "$elsewhere" && go tool pprof -top -lines -nodecount=8 "$root/$last")

printf '\nThe pprof files are in %s. To open one: go tool pprof -http=: %s\n' "$out" "$last"
