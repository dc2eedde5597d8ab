// Allocates once below each of 20,000 distinct stacks of 35 frames, and keeps the memory.
#include <stdlib.h>

enum { STACKS = 20000, DEPTH = 15 };
void *volatile kept[STACKS];

void left(int depth, unsigned path, int number);
void right(int depth, unsigned path, int number);

__attribute__((noinline)) static void go(int depth, unsigned path, int number) {
	if (depth == 0)
		kept[number] = malloc(100);
	else
		(path & 1 ? left : right)(depth - 1, path >> 1, number);
	__asm__ volatile(""); // no tail call
}

void left(int depth, unsigned path, int number) {
	go(depth, path, number);
	__asm__ volatile("");
}

void right(int depth, unsigned path, int number) {
	go(depth, path, number);
	__asm__ volatile("");
}

int main(void) {
	for (int i = 0; i < STACKS; i++) go(DEPTH, (unsigned)i, i);
	return 0;
}
