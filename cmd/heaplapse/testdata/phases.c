// Allocates in four phases, and waits for a line behind each. In the last one, the blocks of the second phase are freed,
// and those of the first one are reallocated.
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 50 };
static void *first[BLOCKS], *second[BLOCKS], *third[BLOCKS], *fourth[BLOCKS];

#define PHASE(n, size) \
	__attribute__((noinline)) static void phase_##n(void **to) { \
		for (int i = 0; i < BLOCKS; i++) to[i] = malloc(size); \
		__asm__ volatile("" ::: "memory"); \
	}
PHASE(1, 1001)
PHASE(2, 1002)
PHASE(3, 1003)
PHASE(4, 1004)

__attribute__((noinline)) static void phase_1_grows(void) {
	for (int i = 0; i < BLOCKS; i++) first[i] = realloc(first[i], 1011);
	__asm__ volatile("" ::: "memory");
}

int main(void) {
	phase_1(first);
	getchar();
	phase_2(second);
	getchar();
	phase_3(third);
	getchar();
	for (int i = 0; i < BLOCKS; i++) free(second[i]);
	phase_1_grows();
	phase_4(fourth);
	getchar();
	return 0;
}
