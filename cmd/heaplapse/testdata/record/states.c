// Usage: states STATE. Uses up what the built-in engine has for something, and ends with status 0:
//   samples   no memory for the table of samples
//   paths     no memory for call paths
//   copy      no memory for a snapshot
//   threads   more threads than the engine knows
//   mappings  more mappings than the engine knows
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { POOL = 64 << 20, SAMPLES = 100000, PATHS = 20000, THREADS = 4500, MAPPINGS = (1 << 17) + 1, SIZE = 64 << 10 };

static void fail(const char *what) {
	perror(what);
	exit(1);
}

// no_more_memory lets malloc use memory that the process has, but no mmap succeeds any more.
static void no_more_memory(void) {
	mallopt(M_MMAP_THRESHOLD, 2 * POOL);
	mallopt(M_TRIM_THRESHOLD, 2 * POOL);
	free(malloc(POOL));
	struct rlimit limit;
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = 1;
	if (setrlimit(RLIMIT_AS, &limit) != 0) fail("setrlimit");
}

static void memory_again(void) {
	struct rlimit limit;
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_AS, &limit);
}

static void *volatile kept;

static void allocate(unsigned depth, unsigned path) {
	if (depth == 0)
		kept = malloc(16);
	else if (path & 1)
		allocate(depth - 1, path >> 1);
	else
		allocate(depth - 1, path >> 1);
	__asm__ volatile(""); // no tail call
}

static void samples(void) {
	for (int i = 0; i < SAMPLES; i++) allocate(0, 0);
}

static void paths(void) {
	for (unsigned i = 0; i < PATHS; i++) allocate(15, i);
}

// copy leaves memory for what the engine shares with the recorder, and not for a copy of its tables.
static void copy(void) {
	enum { LEFT = 500 << 10 };
	paths();
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1) fail("statm");
	fclose(f);
	struct rlimit limit = {pages * 4096 + LEFT, RLIM_INFINITY};
	if (setrlimit(RLIMIT_AS, &limit) != 0) fail("setrlimit");
}

static pthread_barrier_t all_run;

static void *thread(void *none) {
	kept = malloc(16);
	pthread_barrier_wait(&all_run);
	return none;
}

static void threads(void) {
	static pthread_t id[THREADS];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_run, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&id[i], &small, thread, NULL) != 0) exit(3);
	for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
}

// mappings makes neighbours, which the kernel counts as one mapping.
static void mappings(void) {
	char *at = mmap(NULL, (size_t)MAPPINGS * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) fail("mmap");
	munmap(at, (size_t)MAPPINGS * SIZE);
	for (int i = 0; i < MAPPINGS; i++, at += SIZE)
		if (mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != at)
			fail("mmap");
}

int main(int argc, char **argv) {
	if (argc != 2) return 2;
	const char *state = argv[1];
	if (!strcmp(state, "threads")) return threads(), 0;
	if (!strcmp(state, "mappings")) return mappings(), 0;
	if (!strcmp(state, "copy")) return copy(), 0;
	no_more_memory();
	if (!strcmp(state, "samples")) samples();
	if (!strcmp(state, "paths")) paths();
	memory_again();
	return 0;
}
