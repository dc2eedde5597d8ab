// A loop of malloc and free: blocks of 16 to 527 bytes, and of 8 KiB now and then, 4096 at a time,
// below a stack of twelve frames.
// Usage: malloc PAIRS THREADS, or malloc PAIRS ask: it runs the loop for each line that it reads, and
// prints the seconds that it took.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long pairs;

__attribute__((noinline)) static void *allocate(size_t size) {
	char *p = malloc(size);
	p[0] = 1;
	return p;
}

__attribute__((noinline)) static void loop(int depth, unsigned x) {
	if (depth > 0) {
		loop(depth - 1, x);
		__asm__ volatile(""); // no tail call
		return;
	}
	enum { SLOTS = 4096 };
	void **slots = calloc(SLOTS, sizeof *slots);
	for (long i = 0; i < pairs; i++) {
		x = x * 1664525u + 1013904223u;
		unsigned k = (x >> 8) % SLOTS;
		free(slots[k]);
		slots[k] = allocate((x & 255) == 0 ? 8192 : 16 + ((x >> 20) & 511));
	}
	for (int i = 0; i < SLOTS; i++) free(slots[i]);
	free(slots);
}

static void *run(void *seed) {
	loop(12, (unsigned)(size_t)seed);
	return NULL;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void run_when_asked(void) {
	while (getchar() == '\n') {
		double before = now();
		run((void *)1);
		printf("%.6f\n", now() - before);
		fflush(stdout);
	}
}

int main(int argc, char **argv) {
	if (argc != 3) return 2;
	pairs = atol(argv[1]);
	if (strcmp(argv[2], "ask") == 0) return run_when_asked(), 0;
	int n = atoi(argv[2]);
	if (n <= 1) return run((void *)1), 0;
	pthread_t threads[64];
	for (long i = 0; i < n && i < 64; i++) pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < n && i < 64; i++) pthread_join(threads[i], NULL);
	return 0;
}
