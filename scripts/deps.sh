#!/usr/bin/env bash
# Installs the tools that the tests need, and with HEAPLAPSE_FULL=1 those of scripts/harm. As root on
# Debian or Ubuntu it runs apt-get; otherwise it prints what to install. Tests skip what needs a missing
# tool, and fail if CI=true.
set -euo pipefail

# A tool in PATH or a file, and the Debian package that has it.
needs=(
	addr2line:binutils c++filt:binutils objcopy:binutils readelf:binutils
	gcc:gcc g++:g++ musl-gcc:musl-tools clang:clang ld.lld:lld dwz:dwz eu-addr2line:elfutils
	llvm-symbolizer:llvm llvm-cxxfilt-14:llvm-14
	python3:python3 /usr/lib/python3/dist-packages/numpy:python3-numpy /usr/lib/python3/dist-packages/greenlet:python3-greenlet
	node:nodejs rustc:rustc perl:perl php:php-cli ruby:ruby
	git:git file:file flock:util-linux pkill:procps zstd:zstd xz:xz-utils xmllint:libxml2-utils
	dot:graphviz chromium:chromium
	'/usr/lib/*/libtcmalloc.so.4:libgoogle-perftools4' '/usr/lib/*/libtcmalloc_minimal.so.4:libtcmalloc-minimal4'
	'/usr/lib/*/libjemalloc.so.2:libjemalloc2' '/usr/lib/*/libjemalloc.a:libjemalloc-dev' /usr/lib/debug/.build-id:libc6-dbg
)

[ "${HEAPLAPSE_FULL:-}" != 1 ] || needs+=(
	bwrap:bubblewrap firejail:firejail runc:runc /usr/share/containers/seccomp.json:golang-github-containers-common
	systemd-analyze:systemd /usr/include/seccomp.h:libseccomp-dev
	mkfs.ext4:e2fsprogs fsfreeze:util-linux /usr/lib/python3/dist-packages/fusepy.py:python3-fusepy
	javac:default-jdk-headless
	'/usr/include/*/cblas.h:libopenblas-dev' /usr/include/jemalloc/jemalloc.h:libjemalloc-dev
)

# installed TOOL|PATTERN: a pattern begins with a slash.
installed() {
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

missing=()
for need in "${needs[@]}"; do
	installed "${need%:*}" || missing+=("${need##*:}")
done
# Debian's python3 cannot make virtual environments by itself (scripts/e2e-tensorflow.sh).
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} -gt 0 ] || exit 0

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "deps.sh: installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
	echo "deps.sh: some tests will be skipped; to run all of them: sudo apt-get install ${missing[*]}"
fi
