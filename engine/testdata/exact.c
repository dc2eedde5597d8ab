// Every way to allocate memory, with known results. Run with a period of 1, every allocation is
// recorded exactly. Each function site_… is one site; the test knows what it leaves.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define SITE __attribute__((noinline)) static void
#define CHECK(condition) ((condition) ? (void)0 : (printf("line %d: %s\n", __LINE__, #condition), exit(1)))

static void *volatile kept[64];
static int n;
static void *keep(void *p) { return kept[n++] = p; }

SITE site_malloc(void) { // 3 × 100 allocated, 2 in use
	keep(malloc(100));
	keep(malloc(100));
	free(keep(malloc(100)));
}
SITE site_zero(void) { // 2 × 0
	CHECK(keep(malloc(0)) && keep(calloc(0, 8)));
	free(NULL);
}
SITE site_calloc(void) { // 10 × 30
	char *p = keep(calloc(10, 30));
	for (int i = 0; i < 300; i++) CHECK(p[i] == 0);
	errno = 0;
	CHECK(calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
}
SITE site_realloc(void) { // allocated 10 + 1000 + 20 + 7; in use 20
	char *p = realloc(NULL, 10);
	memcpy(p, "123456789", 10);
	p = realloc(p, 1000);
	CHECK(strcmp(p, "123456789") == 0);
	p = keep(realloc(p, 20));
	CHECK(strcmp(p, "123456789") == 0);
	errno = 0;
	CHECK(realloc(p, (size_t)PTRDIFF_MAX) == NULL && errno == ENOMEM);
	CHECK(strcmp(p, "123456789") == 0);
	void *gone = malloc(7);
#ifdef __GLIBC__
	CHECK(realloc(gone, 0) == NULL);
#else
	free(gone);
#endif
}
SITE site_reallocarray(void) { // 8 × 5
	char *p = keep(reallocarray(NULL, 8, 5));
	CHECK(p);
	errno = 0;
	CHECK(reallocarray(p, SIZE_MAX / 2, 4) == NULL && errno == ENOMEM);
}
SITE site_aligned(void) { // 100 + 256 + 300 + 400; the last freed
	void *p = NULL;
	errno = 5;
	CHECK(posix_memalign(&p, 64, 100) == 0 && (uintptr_t)keep(p) % 64 == 0 && errno == 5);
	CHECK((uintptr_t)keep(aligned_alloc(128, 256)) % 128 == 0);
	CHECK((uintptr_t)keep(memalign(4096, 300)) % 4096 == 0);
	p = valloc(400);
	CHECK((uintptr_t)p % 4096 == 0);
	free(p);
	void *same = p;
	CHECK(posix_memalign(&p, 3, 100) == EINVAL && p == same);
}
SITE site_pvalloc(void) { // 1
#ifdef __GLIBC__
	CHECK((uintptr_t)keep(pvalloc(1)) % 4096 == 0);
#else
	keep(malloc(1));
#endif
}
SITE site_library(void) { // strdup: 6
	keep(strdup("hello"));
}
SITE site_errno(void) {
	errno = 77;
	free(malloc(50));
	CHECK(errno == 77);
}

enum { K = 1024 };
static char *map(size_t size) {
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}
SITE site_map(void) { // 2 of 64 KiB, and small or reserved ones, which are not recorded
	map(64 * K);
	map(64 * K);
	map(60 * K);
	CHECK(mmap(NULL, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
	errno = 0;
	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
}
SITE site_unmap(void) { // 1024 KiB; 64 unmapped at the start, the end and in the middle: two parts
	char *p = map(1024 * K);
	CHECK(munmap(p, 64 * K) == 0);
	CHECK(munmap(p + 960 * K, 64 * K) == 0);
	CHECK(munmap(p + 512 * K, 64 * K) == 0);
	CHECK(munmap(map(128 * K), 128 * K) == 0);
	errno = 0;
	CHECK(munmap(p + 1, 4096) == -1 && errno == EINVAL);
}
SITE site_remap(void) { // 128 KiB becomes 256 KiB, and another one 512 KiB by a fixed mapping over it
	char *p = mremap(map(128 * K), 128 * K, 256 * K, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED);
	char *q = map(512 * K);
	CHECK(mmap(q, 512 * K, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == q);
}

// Many blocks, freed in another order: what is left is known.
SITE site_many(void) { // 20000 allocated, 5000 in use of 32 bytes
	enum { N = 20000 };
	static void *blocks[N];
	for (int i = 0; i < N; i++) blocks[i] = malloc(32);
	for (int i = 0; i < N; i++)
		if (i * 7919 % N % 4) free(blocks[i * 7919 % N]);
}

// Blocks that another thread frees, and whose addresses are soon used again by the first one.
enum { THREADS = 4, ROUNDS = 10000, SLOTS = 64 };
static void *_Atomic slots[SLOTS];
SITE site_passed(void) { // 40000 allocated by 4 threads, 64 in use of 2000 bytes
	static _Atomic unsigned seeds;
	unsigned x = ++seeds;
	for (int i = 0; i < ROUNDS; i++) {
		x = x * 1664525u + 1013904223u;
		free(atomic_exchange(&slots[(x >> 16) % SLOTS], malloc(2000)));
	}
}
static void *pass(void *unused) {
	site_passed();
	return unused;
}
static void passed(void) {
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, pass, NULL) == 0);
	for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void limited(void) { // an allocation that fails leaves the program and errno as without the engine
	struct rlimit old, low;
	getrlimit(RLIMIT_AS, &old);
	low = old;
	low.rlim_cur = 1 << 28;
	CHECK(setrlimit(RLIMIT_AS, &low) == 0);
	errno = 0;
	CHECK(malloc(1 << 29) == NULL && errno == ENOMEM);
	errno = 0;
	CHECK(mmap(NULL, 1 << 29, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
	setrlimit(RLIMIT_AS, &old);
}

int main(int argc, char **argv) {
	(void)argv;
	site_malloc();
	site_zero();
	site_calloc();
	site_realloc();
	site_reallocarray();
	site_aligned();
	site_pvalloc();
	site_library();
	site_errno();
	site_map();
	site_unmap();
	site_remap();
	site_many();
	passed();
	if (argc == 1) limited(); // an emulator ignores the limit
	puts("ok");
	return 0;
}
