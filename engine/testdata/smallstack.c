// Allocates on a coroutine's stack that is filled with a pattern, and prints how many bytes of it
// were used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { SIZE = 256 << 10, ROUNDS = 20, PATTERN = 0xa5 };
static ucontext_t outside, inside;

static __attribute__((noinline)) void allocate(void) {
	char *volatile p = malloc(100000);
	p = realloc(p, 300000);
	free(p);
	void *volatile m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(m, 1 << 20);
	swapcontext(&inside, &outside);
}

static int used(void) {
	static unsigned char stack[SIZE];
	int untouched = 0;
	memset(stack, PATTERN, SIZE);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = SIZE;
	inside.uc_link = &outside;
	makecontext(&inside, allocate, 0);
	swapcontext(&outside, &inside);
	while (stack[untouched] == PATTERN) untouched++;
	return SIZE - untouched;
}

int main(void) {
	int most = 0;
	used(); // the first time, the loader binds the functions
	for (int i = 0; i < ROUNDS; i++) {
		int n = used();
		if (n > most) most = n;
	}
	printf("%d\n", most);
}
