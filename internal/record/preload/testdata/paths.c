// Usage: paths COUNT [wait|SECONDS]. Allocates once below each of COUNT distinct stacks, of 35 frames or more, and keeps
// the memory. With "wait" it then waits for input. With a number it allocates and frees for so many seconds, and prints
// how long the longest call took, how many took more than 1 ms and 10 ms, and how many calls there were.
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

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void measure(double seconds) {
	double longest = 0, before = now(), end = before + seconds;
	long calls = 0, above_1 = 0, above_10 = 0;
	for (; before < end; calls++) {
		void *volatile p = malloc(1000);
		free(p);
		double after = now(), took = after - before;
		if (took > longest) longest = took;
		above_1 += took > 1e-3;
		above_10 += took > 1e-2;
		before = after;
	}
	printf("longest %.2f ms, %ld above 1 ms, %ld above 10 ms, of %ld\n", longest * 1e3, above_1, above_10, calls);
}

int main(int argc, char **argv) {
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	int depth = 15;
	while (count > 1u << depth) depth++;
	for (unsigned i = 0; i < count; i++) go(depth, i);
	char c;
	if (argc > 2 && !strcmp(argv[2], "wait")) return puts("ready"), fflush(stdout), read(0, &c, 1) < 0;
	if (argc > 2) measure(atof(argv[2]));
	return 0;
}
