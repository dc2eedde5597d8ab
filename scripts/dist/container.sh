#!/usr/bin/env bash
# Builds the root directory of the container image twice, compares both, and runs the program in it as
# the image does: without privileges, a C library or any other file. It needs Linux and root, and no
# container engine.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for build in a b; do
	scripts/dist/rootfs.sh "$work/$build"
	tar -C "$work/$build" --sort=name --numeric-owner -cf "$work/$build.tar" .
done
cmp "$work/a.tar" "$work/b.tar"

cp -r testdata/lines "$work/a/data/lines"
chmod 755 "$work" "$work/a"
# run ARG… runs the program as the container does.
run() {
	unshare --mount --pid --net --fork chroot --userspec=65532:65532 --groups= "$work/a" /bin/heaplapse "$@"
}
export HOME=/home XDG_CACHE_HOME=/cache
run version
run growth -q /data/lines | grep -q '^LEAK: handle app.py:9 '
run report -q /data/lines -o /data/report.html
test "$(stat -c %u "$work/a/data/report.html")" = 65532
! run report -q /data/lines -o /bin/report.html 2>"$work/refused"
grep -q 'permission denied' "$work/refused"
! run record -- /bin/heaplapse version 2>"$work/refused" # statically linked: it says so
cat "$work/refused"

# The jobs of docs/examples/fleet.yaml, with their very arguments. The root directory is read-only but for the
# volumes, as in the job.
mkdir "$work/a/heaps" "$work/a/tables"
mkdir -p "$work/a/heaps/shop-7/first" "$work/a/heaps/shop-7/second"
cp -r testdata/lines/. "$work/a/heaps/shop-7/first"
cp -r testdata/leaky/. "$work/a/heaps/shop-7/second"
chown -R 65532:65532 "$work/a/tables"
chown -R 0:0 "$work/a/data" "$work/a/cache" "$work/a/home"
chmod 755 "$work/a/tmp"
grep -E '^ +args: ' docs/examples/fleet.yaml | sed -E 's/^ +args: \[(.*)\]$/\1/; s/[",]//g; s/\$\(INDEX\)/7/g' >"$work/jobs"
test "$(wc -l <"$work/jobs")" = 2
while read -ra job; do run "${job[@]}" </dev/null; done <"$work/jobs"
find "$work/a/tables" -name '*.parquet' -printf '%P\n' | sort >"$work/rows"
# Both recordings were made on other days.
test "$(grep -cx 'sites/night=[0-9-]*/all.parquet' "$work/rows")" = 2
test "$(grep -cx 'runs/night=[0-9-]*/all.parquet' "$work/rows")" = 2
echo 'container.sh: passed'
