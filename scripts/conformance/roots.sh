#!/usr/bin/env bash
# Runs the tests of the built-in engine on other releases of Debian, which have other versions of the
# C libraries, gcc and CPython. The test program is the one that this machine builds.
# Usage: roots.sh [DIR [SUITE…]]; DIR keeps the root directories, 1 GB each (default: out/roots); the
# default suites are bullseye, bookworm, trixie and sid.
# It needs Linux, root, go, debootstrap and network access, and takes an hour.
# RUN is the pattern of the tests (default: all). HEAPLAPSE_FULL=1 runs the long ones, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-out/roots}
suites=("${@:2}")
[ ${#suites[@]} -gt 0 ] || suites=(bullseye bookworm trixie sid)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
CGO_ENABLED=0 go test -c -o "$dir/engine.test" ./engine

# packages SUITE: qemu and a cross compiler run the tests of the other processor.
packages() {
	echo gcc,g++,libc6-dev,python3,python3-greenlet,perl,nodejs,binutils
	local more=musl-tools,libjemalloc2,qemu-user,gcc-aarch64-linux-gnu,libc6-dev-arm64-cross
	case $1 in
	bullseye | bookworm) echo $more,libtcmalloc-minimal4 ;;
	sid) echo python3.13,python3.14,python3.15 ;;
	*) echo $more,libtcmalloc-minimal4t64 ;;
	esac
}

make_root() {
	[ ! -e "$dir/$1/.complete" ] || return 0
	rm -rf "${dir:?}/$1"
	debootstrap --variant=minbase --include="$(packages "$1" | paste -sd ,)" "$1" "$dir/$1" >"$dir/$1.debootstrap.log" || {
		tail -n 5 "$dir/$1.debootstrap.log" >&2
		return 1
	}
	touch "$dir/$1/.complete"
}

# inside ROOT COMMAND runs a shell command in a root directory, in namespaces of its own.
inside() {
	unshare --mount --pid --fork --kill-child bash -c '
		mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs -o mode=1777 tmpfs "$0/tmp" &&
		exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root HEAPLAPSE_FULL="$2" sh -c "$1"' \
		"$1" "$2" "${HEAPLAPSE_FULL:-}" </dev/null
}

# prepare ROOT copies the tests. They look for further interpreters where pyenv has them.
prepare() {
	local python
	rm -rf "$1/src" "$1/root/.pyenv"
	mkdir -p "$1/src"
	tar -c go.mod internal/record testdata/leaky | tar -x -C "$1/src"
	cp "$dir/engine.test" "$1/src"
	for python in "$1"/usr/bin/python3.*; do
		[[ $python =~ /python(3\.[0-9]+)$ ]] || continue
		mkdir -p "$1/root/.pyenv/versions/${BASH_REMATCH[1]}/bin"
		ln -s "/usr/bin/python${BASH_REMATCH[1]}" "$1/root/.pyenv/versions/${BASH_REMATCH[1]}/bin/python3"
	done
}

# names RESULT prints the tests of a log that have a result, on one line.
names() { sed -n "s/^--- $1: \(Test[^ ]*\).*/\1/p" "$log" | paste -sd ' '; }

status=0
for suite in "${suites[@]}"; do
	make_root "$suite"
	prepare "$dir/$suite"
	log=$dir/$suite.log
	inside "$dir/$suite" 'ldd --version | head -n 1; gcc --version | head -n 1; qemu-aarch64 --version | head -n 1
		for p in /usr/bin/python3.*[0-9]; do $p --version; done; dpkg-query -W musl' >"$dir/$suite.versions" 2>/dev/null || true
	inside "$dir/$suite" "cd /src/engine && /src/engine.test -test.v -test.timeout 60m -test.run '${RUN:-.}'" >"$log" 2>&1 || status=1
	printf '%s: %s\n' "$suite" "$(paste -sd ';' "$dir/$suite.versions")"
	printf '%s: %s tests passed; failed: %s; skipped: %s\n' "$suite" "$(grep -c '^--- PASS' "$log")" "$(names FAIL)" "$(names SKIP)"
done
exit $status
