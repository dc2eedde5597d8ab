#!/usr/bin/env bash
# Makes a release of the commit that is checked out: archives, packages, the container image, lists of
# modules, checksums, provenance, and notes from CHANGELOG.md. Without --publish it stops when all of
# that is in out/release and checked, and prints what it would publish.
#
# Usage: release.sh VERSION [--publish]      VERSION is like v0.2.0
#
# --publish needs gh and a token with the right to write contents (and packages, for the image):
# GH_TOKEN, or that of `gh auth login`. It also needs skopeo, which pushes the image. If publishing
# fails, the same command does the rest.
set -euo pipefail
cd "$(dirname "$0")/../.."
say() { printf 'release.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

tag=${1:-} publish=${2:-}
[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail "VERSION is like v0.2.0, not '$tag'"
[[ $# -le 2 && $publish =~ ^(|--publish)$ ]] || fail "unknown argument; usage: release.sh VERSION [--publish]"
version=${tag#v} commit=$(git rev-parse HEAD)
out=$PWD/out/release
image=ghcr.io/heaplapse/heaplapse

# --- what would make a wrong release ---
[ -z "$(git status --porcelain)" ] || fail "there are files or changes that are not committed (git status): commit or remove them"
tagged=$(git rev-parse --quiet --verify "refs/tags/$tag^{commit}" || true)
[ "${tagged:-$commit}" = "$commit" ] || fail "the tag $tag is another commit: $tagged"
if [ -n "$publish" ]; then
	command -v gh >/dev/null || fail "gh is missing: https://cli.github.com"
	gh auth status >/dev/null 2>&1 || fail "gh has no token: set GH_TOKEN, or run gh auth login"
	command -v skopeo >/dev/null || fail "skopeo is missing, which pushes the image: apt-get install skopeo"
fi
rm -rf "$out"
mkdir -p "$out"
if ! scripts/dist/notes.sh "$tag" >"$out.notes.md"; then
	[ -z "$publish$tagged" ] || exit 1
	say "the notes of this dry run are the section [Unreleased]; --publish needs [$version]"
	scripts/dist/notes.sh Unreleased >"$out.notes.md"
fi

# --- build, and check what was built ---
scripts/dist/dist.sh "$out" "$version" >/dev/null
(cd "$out" && sha256sum --check --quiet --strict SHA256SUMS)
program=$out.check
rm -rf "$program"
mkdir "$program"
tar -C "$program" --strip-components 1 -xzf "$out/heaplapse-$version-$(go env GOHOSTOS)-$(go env GOHOSTARCH).tar.gz"
"$program/bin/heaplapse" version | grep -q "^heaplapse $version " || fail "the program tells another version"
rm -rf "$program"
say "$tag is $commit; its files are in $out, and its notes in $out.notes.md:"
(cd "$out" && ls)

if [ -z "$publish" ]; then
	say "this was a dry run: --publish makes the release $tag with these files, and pushes $image:$version"
	exit
fi

# --- publish: the release comes last, because a release that exists is not made again ---
if draft=$(gh release view "$tag" --json isDraft --jq .isDraft 2>/dev/null); then
	[ "$draft" = false ] || fail "an unfinished draft of $tag is there: gh release delete $tag, and run this again"
	say "the release $tag exists already: nothing was published"
	exit
fi
auth=$(mktemp)
trap 'rm -f "$auth"' EXIT
gh auth token | skopeo login --authfile "$auth" --username "${GITHUB_ACTOR:-token}" --password-stdin ghcr.io
skopeo copy --all --authfile "$auth" "oci-archive:$out/heaplapse-$version-image.tar" "docker://$image:$version"
options=(--title "$tag" --notes-file "$out.notes.md" --target "$commit")
[[ $tag != *-* ]] || options+=(--prerelease)
gh release create "$tag" "${options[@]}" "$out"/*
