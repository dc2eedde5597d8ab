#!/usr/bin/env bash
# Installs what the tests need: with apt-get when root on Debian or Ubuntu, else it says what is missing.
# The tests skip what needs an absent tool, and fail on it under CI=true.
set -euo pipefail

# tool or file -> Debian package
needs=(
	"gcc:gcc" "g++:g++" "clang:clang" "ld.lld:lld" "dwz:dwz" "objcopy:binutils" "readelf:binutils" "addr2line:binutils"
	"llvm-symbolizer:llvm" "llvm-cxxfilt-14:llvm-14" "c++filt:binutils" "eu-addr2line:elfutils" "dot:graphviz" "python3:python3" "node:nodejs" "zstd:zstd" "xz:xz-utils" "xmllint:libxml2-utils" "git:git" "flock:util-linux" "file:file"
	"perl:perl" "pkill:procps" "/usr/lib/python3/dist-packages/numpy:python3-numpy"
	"/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4:libgoogle-perftools4"
	"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:libjemalloc2"
	"/usr/lib/debug/.build-id:libc6-dbg" "chromium:chromium"
)

missing=()
for need in "${needs[@]}"; do
	what=${need%:*} package=${need##*:}
	case $what in
	/*) [ -e "$what" ] && continue ;;
	*) command -v "$what" >/dev/null && continue ;;
	esac
	missing+=("$package")
done
# Debian's python3 comes without what makes virtual environments (scripts/e2e-tensorflow.sh).
python3 -c 'import ensurepip' 2>/dev/null || missing+=("python3-venv")
[ ${#missing[@]} -eq 0 ] && exit 0

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "deps.sh: installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
	echo "deps.sh: some tests will be skipped; to run them all: sudo apt-get install ${missing[*]}"
fi
