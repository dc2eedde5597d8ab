#!/usr/bin/env bash
# Builds the packages twice, compares them, and installs, uses and removes the .deb as a user does.
# It changes the system: run it in a root that is thrown away, as `make dist-check` does.
set -euo pipefail
cd "$(dirname "$0")/../.."
tab=$PWD/scripts/dist/tab.py
arch=$(dpkg --print-architecture)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

say() { printf 'check.sh: %s\n' "$*" >&2; }
install() { DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$@" >/dev/null; }

# with TEXT COMMAND… runs a command whose output must contain a text.
with() {
	"${@:2}" >"$out/output" 2>&1 || { cat "$out/output"; say "failed: ${*:2}"; exit 1; }
	grep -q -- "$1" "$out/output" || { cat "$out/output"; say "$1 is missing in the output of ${*:2}"; exit 1; }
}

say "two builds are identical"
scripts/dist/dist.sh "$out/a" 0.1.0 >/dev/null
git clone --quiet . "$out/clone" # another directory, other times of files
mkdir "$out/b"
touch "$out/b/heaplapse-0.0.9-image.tar" # of an earlier build
"$out/clone/scripts/dist/dist.sh" "$out/b" 0.1.0 >/dev/null
diff -r "$out/a" "$out/b"
lines=$PWD/testdata/lines
cd "$out/a"
sha256sum -c --quiet --strict SHA256SUMS
apt-get -qq update
install skopeo jq rpm

say "the archives have the program, and the lists its modules"
for name in linux-amd64 linux-arm64 darwin-arm64; do
	tar -C "$out" -xzf "heaplapse-0.1.0-$name.tar.gz"
	program=$out/heaplapse-0.1.0-$name/bin/heaplapse
	with '"bomFormat": "CycloneDX"' cat "heaplapse-0.1.0-$name.cdx.json"
	jq -r '.components[] | .name + " " + .version' "heaplapse-0.1.0-$name.cdx.json" | grep -v '^std ' | sort >"$out/listed"
	go version -m "$program" | awk '$1 == "dep" {print $2, $3}' | sort | diff - "$out/listed"
	while read -r module; do with "^$module$" cat "$out/heaplapse-0.1.0-$name/LICENSES.txt"; done <"$out/listed"
done
program=$out/heaplapse-0.1.0-linux-$arch/bin/heaplapse
with '^heaplapse 0.1.0 linux/' "$program" --version
with '^LEAK: handle app.py:9 ' "$program" growth -q "$lines"

say "the image can be read, and the provenance is about all files"
for image in amd64 arm64; do
	skopeo copy --quiet --override-arch $image --insecure-policy oci-archive:heaplapse-0.1.0-image.tar "dir:$out/image-$image"
	with '"65532:65532"' jq . "$out/image-$image/$(jq -r '.config.digest | ltrimstr("sha256:")' "$out/image-$image/manifest.json")"
done
jq -r '.subject[] | .digest.sha256 + "  " + .name' provenance.intoto.json | diff - SHA256SUMS

say "the .rpm and .apk packages have the files of the .deb"
for package in heaplapse-0.1.0-1.x86_64.rpm heaplapse-0.1.0-1.aarch64.rpm; do
	rpm -qpl "$package" 2>/dev/null | grep -v '/$' | sort >"$package.files"
done
for package in heaplapse_0.1.0_x86_64.apk heaplapse_0.1.0_aarch64.apk; do
	with '^pkgver = 0.1.0' tar --ignore-zeros -xzOf "$package" .PKGINFO
	tar --ignore-zeros -tzf "$package" 2>/dev/null | sed -n 's|^\(usr/.*[^/]\)$|/\1|p' | sort >"$package.files"
done
for package in heaplapse_0.1.0_amd64.deb heaplapse_0.1.0_arm64.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -t | sed -n 's|^\.\(/.*[^/]\)$|\1|p' | sort >"$package.files"
done
sed -i 's|/\.build-id.*||' ./*.files
for list in ./*.files; do
	diff heaplapse_0.1.0_amd64.deb.files "$list" || { say "$list differs"; exit 1; }
done
grep -qx /usr/share/man/man1/heaplapse-growth.1.gz heaplapse_0.1.0_amd64.deb.files

say "the .deb is installed and used"
cd "$out"
install man-db bash-completion zsh fish python3
find / -xdev -name '*heaplapse*' -not -path "$out/*" -not -path '/root/*' | sort >before
install "./a/heaplapse_0.1.0_$arch.deb"
with '^heaplapse 0.1.0 linux/' heaplapse version
with '^commit [0-9a-f]\{40\}.* of 2' heaplapse version
export MANPAGER=cat MANWIDTH=100
with 'find what grows in a native heap' man heaplapse
with '^ *--explain SITE' man heaplapse-growth
with 'heaplapse 0.1.0' man heaplapse-baseline-save

cat >leak.py <<'PY'
import time
kept = []
def handle():
    kept.append(bytearray(100_000))
for _ in range(200):
    handle()
    time.sleep(0.02)
PY
heaplapse record --every 200ms -o dumps -- python3 leak.py
with 'handle leak.py:4' heaplapse growth dumps
heaplapse baseline save -q set dumps --label commit=f00 >/dev/null
pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' dumps/heaplapse.manifest.jsonl | head -n 1)

say "shells complete commands, flags, PATHs, engines, labels and processes"
for shell in bash zsh fish; do
	python3 "$tab" $shell 'heaplapse gro' 'heaplapse growth'
	python3 "$tab" $shell 'heaplapse growth --expl' 'heaplapse growth --explain'
	python3 "$tab" $shell 'heaplapse growth dum' 'heaplapse growth dumps/'
	python3 "$tab" $shell 'heaplapse record --engine jem' 'heaplapse record --engine jemalloc'
	python3 "$tab" $shell 'heaplapse baseline save set dumps --label com' '--label commit='
	python3 "$tab" $shell 'heaplapse growth dumps --process ' "--process $pid"
done

say "nothing is left when it is removed"
apt-get -qq purge heaplapse >/dev/null
[ ! -e /usr/bin/heaplapse ]
rm -rf ~/.cache/heaplapse
find / -xdev -name '*heaplapse*' -not -path "$out/*" -not -path '/root/*' -not -path '/var/cache/man/*' | sort >after
diff before after
echo 'check.sh: passed'
