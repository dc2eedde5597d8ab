// Usage: paths COUNT [wait|SECONDS [THREADS]]. Allocates once below each of COUNT distinct stacks, of 35 frames or more,
// and keeps the memory. With "wait" it then waits for input. With a number it allocates and frees for so many seconds in
// so many threads, and prints how long the longest call took, in real time and in processor time of its thread, how many
// took more than 1 ms and 10 ms of real time, and how many calls there were.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void left(int depth, unsigned path);
void right(int depth, unsigned path);

static void *volatile kept;

__attribute__((noinline)) static void go(int depth, unsigned path) {
	if (depth == 0)
		kept = malloc(100);
	else
		(path & 1 ? left : right)(depth - 1, path >> 1);
	__asm__ volatile(""); // no tail call
}

void left(int depth, unsigned path) {
	go(depth, path);
	__asm__ volatile("");
}

void right(int depth, unsigned path) {
	go(depth, path);
	__asm__ volatile("");
}

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { MAX_THREADS = 64 };

static struct calls {
	double real, processor; // the longest call
	long above_1, above_10, all;
} calls[MAX_THREADS];
static double seconds;

// note adds a call that began at *real and *processor, and sets them to the present.
static void note(struct calls *c, double *real, double *processor) {
	double real_now = now(CLOCK_MONOTONIC), processor_now = now(CLOCK_THREAD_CPUTIME_ID);
	double took = real_now - *real, used = processor_now - *processor;
	if (took > c->real) c->real = took;
	if (used > c->processor) c->processor = used;
	c->above_1 += took > 1e-3;
	c->above_10 += took > 1e-2;
	c->all++;
	*real = real_now, *processor = processor_now;
}

static void *measure(void *of) {
	double real = now(CLOCK_MONOTONIC), processor = now(CLOCK_THREAD_CPUTIME_ID), end = real + seconds;
	while (real < end) {
		void *volatile p = malloc(1000);
		note(of, &real, &processor);
		free(p);
		note(of, &real, &processor);
	}
	return of;
}

static void measure_threads(int n) {
	pthread_t threads[MAX_THREADS];
	struct calls sum = {0};
	for (int i = 0; i < n; i++) pthread_create(&threads[i], NULL, measure, &calls[i]);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		if (calls[i].real > sum.real) sum.real = calls[i].real;
		if (calls[i].processor > sum.processor) sum.processor = calls[i].processor;
		sum.above_1 += calls[i].above_1;
		sum.above_10 += calls[i].above_10;
		sum.all += calls[i].all;
	}
	printf("longest %.2f ms (processor %.2f ms), %ld above 1 ms, %ld above 10 ms, of %ld\n", sum.real * 1e3,
	       sum.processor * 1e3, sum.above_1, sum.above_10, sum.all);
}

int main(int argc, char **argv) {
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	int depth = 15;
	while (count > 1u << depth) depth++;
	for (unsigned i = 0; i < count; i++) go(depth, i);
	char c;
	if (argc > 2 && !strcmp(argv[2], "wait")) return puts("ready"), fflush(stdout), read(0, &c, 1) < 0;
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	if (argc > 2 && threads > 0 && threads <= MAX_THREADS) seconds = atof(argv[2]), measure_threads(threads);
	return 0;
}
