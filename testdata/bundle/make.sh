#!/bin/sh
# Makes a small bundle that covers a separate debug file with a checksum (.gnu_debuglink), inlined functions, PLT stubs and
# a perf map. usage: sh make.sh HEAPLAPSE, in an empty directory. The paths in the bundle are relative to that directory.
set -e
mkdir -p heap root/opt/old root/usr/lib/debug/opt/old
cat >old.c <<'C'
extern void *malloc(unsigned long);
static void **list;
static inline __attribute__((always_inline)) void remember(void *p) { *(void **)p = list; list = p; }
static __attribute__((noinline)) void *block(unsigned long n) { void *p = malloc(n); remember(p); return p; }
int fill(int n) { int sum = 0; for (int i = 1; i <= n; i++) sum += block(i * 64) != 0; return sum; }
C
lib=root/opt/old/libold.so debug=root/usr/lib/debug/opt/old/libold.so.debug
gcc -O2 -g -shared -nostdlib -fPIC -Wl,--build-id "-ffile-prefix-map=$PWD=/src" -o $lib old.c
objcopy --only-keep-debug $lib $debug
objcopy --strip-all --add-gnu-debuglink=$debug $lib
returns() { objdump -d --no-show-raw-insn $lib | awk -v target="$1" 'hit { print "0x7f12" substr("00000000", 1, 8 - length($1) + 1) $1; exit } $0 ~ "call.*" target { hit = 1 }' | tr -d :; }
malloc=$(returns malloc@plt)
for i in 1 2 3 4 5 6; do
	bytes=$((i * 1000000))
	{
		echo "heap profile: $((i * 10 + 1)): $((bytes + 64)) [$((i * 20)): $((bytes * 2))] @ heapprofile"
		echo "$((i * 10)): $bytes [$((i * 20 - 1)): $((bytes * 2 - 64))] @ $malloc 0x30000010"
		echo "1: 64 [1: 64] @ 0x7f1200001016 $malloc 0x7f1200001234"
		echo
		echo "MAPPED_LIBRARIES:"
		echo "30000000-30010000 rwxp 00000000 00:00 0"
		echo "7f1200000000-7f1200001000 r--p 00000000 fe:01 77 /opt/old/libold.so"
		echo "7f1200001000-7f1200002000 r-xp 00001000 fe:01 77 /opt/old/libold.so"
	} >heap/old.000$i.heap
	touch -d "2026-01-01 0$i:00:00 UTC" heap/old.000$i.heap
done
echo "30000000 100 JS:*serve /srv/old.js:3:7" >heap/perf-77.map
"$1" bundle -q heap --sysroot root -o old.heaplapse.tar.zst
