#!/usr/bin/env bash
# Builds the engines that record and attach embed. The build is reproducible with the same clang. The results are committed.
# Usage: build.sh [OUTPUT_DIR [ARCH…]]
set -euo pipefail
cd "$(dirname "$0")"
out=${1:-.}
archs=("${@:2}")
[ ${#archs[@]} -gt 0 ] || archs=(x86_64 aarch64)
mapfile -t all < <(find src -name '*.c' | LC_ALL=C sort)
# The adapter for other allocators is built from those folders and files that it needs.
mapfile -t adapter < <(printf '%s\n' "${all[@]}" | grep -E '^src/(base/|adapter/|output/(channel|events|stream)|process/(refuse|signals|target))')
mapfile -t engine < <(printf '%s\n' "${all[@]}" | grep -v '^src/adapter/')
build() {
	local arch=$1 name=$2
	shift 2
	local extra=()
	# Atomic operations are inlined: the helpers of libgcc are in a library that a program may lack.
	[ "$arch" != aarch64 ] || extra=(-mno-outline-atomics)
	clang --target="$arch-linux-gnu" -std=c11 -O2 -Wall -Wextra -Werror -fPIC -ffreestanding -fno-builtin -nostdlibinc -Isrc \
		-fno-stack-protector -fasynchronous-unwind-tables -fvisibility=hidden -ffp-contract=off -fwrapv -fno-strict-aliasing "${extra[@]}" \
		-ffunction-sections -fdata-sections -Wl,--gc-sections -nostdlib -fuse-ld=lld -shared "$@" \
		-Wl,--hash-style=both,--build-id=sha1,-soname,heaplapse-engine.so,-z,noexecstack,-z,now,-z,nodelete,-s \
		-Wl,-z,max-page-size=65536 -o "$out/$name-$arch.so"
}
# The code that creates the thread that loads the engine into a running process.
build_stub() {
	clang --target=x86_64-linux-gnu -nostdlib -fuse-ld=lld -static -Wl,--oformat=binary,--build-id=none,-Ttext=0 \
		src/attach/stub.S -o "$out/stub-x86_64.bin"
}
builds=()
for arch in "${archs[@]}"; do
	build "$arch" heaplapse "${engine[@]}" &
	builds+=($!)
	build "$arch" adapter "${adapter[@]}" &
	builds+=($!)
done
build_stub
for pid in "${builds[@]}"; do wait "$pid"; done
