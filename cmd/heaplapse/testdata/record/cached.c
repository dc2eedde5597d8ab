// Allocates the same few blocks again and again until the file in the variable STOP exists. After the
// start, an allocator takes none of them from the heap, but from the cache of the thread.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void reuse(void) {
	void *blocks[8];
	for (int i = 0; i < 8; i++) {
		blocks[i] = malloc(100 + 100 * i);
		*(volatile char *)blocks[i] = 1;
	}
	for (int i = 0; i < 8; i++) free(blocks[i]);
}

int main(void) {
	const char *stop = getenv("STOP");
	puts("ready");
	fflush(stdout);
	while (access(stop, F_OK) != 0) {
		for (int i = 0; i < 10; i++) reuse();
		usleep(100);
	}
	return 0;
}
