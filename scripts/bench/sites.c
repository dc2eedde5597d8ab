// Keeps 10 MiB in blocks of 400 bytes at each of 20 sites, at whose functions an engine's estimate is compared with that.
#include <stdlib.h>

enum { SIZE = 400, TOTAL = 10 << 20 };

// Blocks of all sites follow each other, as in a program that does all of its work all of the time.
#define SITE(n) __attribute__((noinline)) static void *site_##n(void) { void *volatile p = malloc(SIZE); return p; }
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#define CALL(n) last = site_##n();

ALL(SITE)

int main(void) {
	void *volatile last;
	for (int i = 0; i < TOTAL / SIZE; i++) {
		ALL(CALL)
	}
	return 0;
}
