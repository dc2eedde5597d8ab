#!/usr/bin/env bash
# Builds what is released into a directory: archives for Linux and macOS, .deb, .rpm and .apk
# packages, the container image, a list of the modules in each program (CycloneDX), checksums and
# provenance. The same commit gives the same bytes; those of the image also depend on the version of
# Debian's ca-certificates. Files of earlier builds in the directory are removed.
#
# Usage: dist.sh DIR [VERSION]      VERSION is that of the tag by default, or 0.0.0-git and the time of
#                                   the commit, which package managers sort
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:?usage: dist.sh DIR [VERSION]}
say() { printf 'dist.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# --- what this machine must have ---
for tool in go git tar gzip sha256sum; do
	command -v "$tool" >/dev/null || fail "$tool is missing: install it"
done
tar --version | grep -q 'GNU tar' && date -u -d @0 >/dev/null 2>&1 ||
	fail "GNU tar and GNU date are missing: run this on Debian or Ubuntu, or in a container of them"
mkdir -p "$out"
out=$(realpath "$out")
rm -f "$out"/heaplapse[-_]* # else the checksums and the provenance would be about them too

version() {
	git describe --exact-match --tags --match 'v*' 2>/dev/null | sed 's/^v//' || true
}
VERSION=${2:-$(version)}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
VERSION=${VERSION:-0.0.0-git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)}
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || commit+=', modified'
export VERSION SOURCE_DATE_EPOCH CGO_ENABLED=0 LC_ALL=C
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -C scripts/dist -o "$work/" tool ||
	fail "nfpm and cyclonedx-gomod cannot be built: their modules must come from GOPROXY, which is $(go env GOPROXY)"

# quietly COMMAND… prints what a command wrote only if it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

# moment prints the time of the commit.
moment() { date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ; }

# build OS ARCH PROGRAM [TAG] builds a program.
build() {
	local package=github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build
	GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -tags "${4-}" -o "$3" -ldflags "-s -w -X $package.release=$VERSION \
		-X '$package.commit=$commit' -X $package.commitTime=$(moment)" ./cmd/heaplapse
}

# licenses prints the licenses of what is in the program: Go, its modules, and the packages of the report page.
licenses() {
	local path version dir files
	printf 'Go %s\n\n' "$(go env GOVERSION)"
	cat "$(go env GOROOT)/LICENSE"
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/heaplapse | sort -u |
		while read -r path version dir; do
			printf '\n%s\n%s %s\n\n' "$line" "$path" "$version"
			files=$(find "$dir" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' \) | sort)
			[ -n "$files" ] || fail "$path $version has no license"
			xargs cat <<<"$files"
		done
	printf '\n%s\n' "$line"
	cat internal/report/page/assets/LICENSES.txt
}
line=$(printf -- '-%.0s' {1..80})

# texts DIR writes what is the same on all systems: man pages, completions, documents.
texts() {
	mkdir -p "$1/share/man/man1" "$1/share/completions"
	"$work/heaplapse" manual "$1/share/man/man1"
	gzip -n9 "$1"/share/man/man1/*
	"$work/heaplapse" completion bash >"$1/share/completions/heaplapse.bash"
	"$work/heaplapse" completion zsh >"$1/share/completions/_heaplapse"
	"$work/heaplapse" completion fish >"$1/share/completions/heaplapse.fish"
	cp LICENSE README.md CHANGELOG.md "$1/"
	licenses >"$1/LICENSES.txt"
}

# archive OS ARCH writes a .tar.gz, and the list of its modules.
archive() {
	local name=heaplapse-$VERSION-$1-$2
	mkdir -p "$work/$name/bin"
	cp -r "$work/texts/." "$work/$name/"
	build "$1" "$2" "$work/$name/bin/heaplapse"
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
		gzip -n9 >"$out/$name.tar.gz"
	quietly "$work/cyclonedx-gomod" bin -json -noserial -std -version "v$VERSION" -output "$out/$name.cdx.json" "$work/$name/bin/heaplapse"
	sed -i "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(moment)\"/" "$out/$name.cdx.json"
}

# packages ARCH writes the packages for Linux from the tree of the archive.
packages() {
	local config=$PWD/scripts/dist/nfpm.yaml script=$PWD/scripts/dist/postremove.sh format
	cd "$work/heaplapse-$VERSION-linux-$1"
	gzip -n9k CHANGELOG.md LICENSES.txt
	cp "$script" .
	touch -d "@$SOURCE_DATE_EPOCH" "${script##*/}" # an .apk keeps the time of its scripts
	for format in deb rpm apk; do
		ARCH=$1 quietly "$work/nfpm" package --config "$config" --packager "$format" --target "$out/"
	done
	cd - >/dev/null
}

# image writes the container image from the programs of the archives.
image() {
	local arch roots=()
	for arch in amd64 arm64; do
		scripts/dist/rootfs.sh "$work/root-$arch" "$work/heaplapse-$VERSION-linux-$arch/bin/heaplapse"
		roots+=("$arch=$work/root-$arch")
	done
	scripts/dist/image.sh "$out/heaplapse-$VERSION-image.tar" "${roots[@]}"
}

build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/heaplapse" manual
texts "$work/texts"
archive linux amd64
archive linux arm64
archive darwin arm64
packages amd64
packages arm64
image
# The packages of v0.2.0-rc.1 have the version 0.2.0~rc.1. GitHub would change that character in a name.
for file in "$out"/heaplapse*~*; do
	[ ! -e "$file" ] || mv "$file" "$out/$(basename "$file" | tr '~' '-')"
done
(cd "$out" && sha256sum heaplapse* >SHA256SUMS)
COMMIT=$commit scripts/dist/provenance.sh "$out/SHA256SUMS" >"$out/provenance.intoto.json"
ls -l "$out"
