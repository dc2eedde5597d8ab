// Allocates known amounts at five sites: of each, every second block stays in use.
#include <stdio.h>
#include <stdlib.h>

#define SITE(size)                                                                                  \
	__attribute__((noinline)) static void site_##size(long total) {                                 \
		for (long i = 0; i * size < total; i++) {                                                   \
			void *volatile p = malloc(size);                                                        \
			if (i % 2) free(p);                                                                     \
		}                                                                                           \
	}
SITE(16)
SITE(400)
SITE(4096)
SITE(60000)
SITE(4194304)

int main(int argc, char **argv) {
	long total = argc > 1 ? atol(argv[1]) : 0;
	site_16(total);
	site_400(total);
	site_4096(total);
	site_60000(total);
	site_4194304(total);
	return 0;
}
