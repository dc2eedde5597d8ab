#!/usr/bin/env bash
# Fetches the programs and libraries of sources.txt and compares heaplapse with llvm-symbolizer on
# them. Usage: run.sh [DIR]; DIR keeps what was fetched, 6 GB (default: out/conformance).
# It needs network access, git, pip, apt-get, readelf and llvm-symbolizer, and takes an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/conformance/lib.sh
dir=${1:-out/conformance}
mkdir -p "$dir"/{git,wheels,debs}

# unpacked_git OWNER/NAME COMMIT clones one commit, and unpacks the compressed files in it.
unpacked_git() {
	local clone=$dir/git/$1
	fetch_git "$dir/git" "$1" "$2"
	find "$clone" -type f -name '*.gz' -exec gzip -dkfq {} + || true # some are damaged on purpose
	find "$clone" -type f -name '*.bz2' -exec bzip2 -dkfq {} + || true
	find "$clone" -type f -name '*.xz' -exec xz -dkfq {} + || true
}

# fetch_wheel PYTHON MACHINE NAME==VERSION
fetch_wheel() {
	local to=$dir/wheels/$3-$1-$2 tag platforms=()
	[ ! -d "$to" ] || return 0
	for tag in manylinux_2_28 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux2010 manylinux1; do
		platforms+=(--platform "${tag}_$2")
	done
	mkdir "$to.part"
	pip download -q --no-deps --only-binary=:all: --python-version "$1" "${platforms[@]}" -d "$to.part" "$3"
	python3 -m zipfile -e "$to.part"/*.whl "$to.part"
	mv "$to.part" "$to"
}

# fetch_deb NAME
fetch_deb() {
	[ ! -e "$dir/debs/$1.deb" ] || return 0
	(cd "$dir/debs" && apt-get download -q=2 "$1" && mv "$1"_*.deb "$1.deb" && dpkg -x "$1.deb" root)
}

while read -r kind words; do
	case $kind in
	# shellcheck disable=SC2086 # words are separated by blanks
	git) unpacked_git $words ;;
	# shellcheck disable=SC2086
	wheel) fetch_wheel $words ;;
	deb) for name in $words; do fetch_deb "$name"; done ;;
	esac
done <scripts/conformance/sources.txt
make -s build
scripts/conformance/elf.py -o "$dir/differences.jsonl" bin/heaplapse "$dir/git" "$dir/wheels" "$dir/debs"
