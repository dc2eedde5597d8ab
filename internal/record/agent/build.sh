#!/usr/bin/env bash
# Builds the agents that record embeds. The build is reproducible with the same clang. The results are committed.
# Usage: build.sh [OUTPUT_DIR]
set -euo pipefail
cd "$(dirname "$0")"
out=${1:-.}
for arch in x86_64 aarch64; do
	# Otherwise atomic operations call functions of libgcc, if clang finds a new GCC for the processor.
	extra=()
	[ "$arch" != aarch64 ] || extra=(-mno-outline-atomics)
	clang --target=$arch-linux-gnu -std=c11 -Os -Wall -Wextra -Werror -fPIC -ffreestanding -fno-builtin -fno-stack-protector \
		-fno-asynchronous-unwind-tables -fvisibility=hidden -nostdlib -fuse-ld=lld -shared \
		-Wl,--hash-style=both,--build-id=sha1,-soname,heaplapse-agent.so,-z,noexecstack,-z,now,-s -Wl,-z,max-page-size=65536 \
		"${extra[@]}" -o "$out/agent-$arch.so" src/agent.c
done
