#!/usr/bin/env bash
# Builds the packages twice, compares them, and installs, uses and removes the .deb as a user does.
# It changes the system: run it in a root that is thrown away, as `make dist-check` does.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

scripts/dist/dist.sh "$out/a" 0.1.0
scripts/dist/dist.sh "$out/b" 0.1.0 >/dev/null
diff -r "$out/a" "$out/b"
(cd "$out/a" && sha256sum -c --quiet SHA256SUMS)

apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends man-db bash-completion python3 \
	"$out/a/heaplapse_0.1.0_$(dpkg --print-architecture).deb" >/dev/null
cd "$out"
heaplapse version | grep -q '^heaplapse 0.1.0 '
heaplapse growth --help >/dev/null
# minbase leaves out man pages; the package's own is read as a file.
man --local-file <(dpkg-deb --fsys-tarfile a/heaplapse_0.1.0_*.deb | tar -xO ./usr/share/man/man1/heaplapse-growth.1.gz | gunzip) |
	grep -q 'find the sites that grow'
bash -c 'source /usr/share/bash-completion/bash_completion
	source /usr/share/bash-completion/completions/heaplapse
	COMP_WORDS=(heaplapse gro) COMP_CWORD=1 COMP_LINE="heaplapse gro" COMP_POINT=13 COMP_TYPE=9 COMP_KEY=9
	__start_heaplapse; [[ ${COMPREPLY[*]} == growth* ]]'
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
heaplapse growth dumps | tee growth.txt
grep -q 'handle leak.py:4' growth.txt
apt-get -qq remove heaplapse >/dev/null
! command -v heaplapse
echo 'check.sh: passed'
