/* Looks like the interpreters of Perl and PHP, but their structures are random words, of which many
 * are addresses of other structures. Usage: junk perl|php SEED */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4096, TIMES = 200 };
static uintptr_t words[WORDS];

unsigned char PL_version = 36, PL_subversion;
pthread_key_t PL_thr_key;
uintptr_t executor_globals[256], module_registry[8];

static void shuffle(void) {
	for (int i = 0; i < WORDS; i++) {
		uintptr_t random = (uintptr_t)rand() << 31 ^ (uintptr_t)rand();
		switch (random % 8) {
		case 0: words[i] = random; break;
		case 1: words[i] = random % 64; break;
		case 2: words[i] = 0; break;
		default: words[i] = (uintptr_t)words + random / 8 % (sizeof words - 64) / 8 * 8; break;
		}
	}
}

static void allocate(void) {
	for (int i = 0; i < TIMES; i++) {
		shuffle();
		memcpy(executor_globals, words + 1024, sizeof executor_globals);
		char *p = malloc(100);
		if (p) *(volatile char *)p = 1;
		free(p);
	}
}

__attribute__((noinline)) void Perl_runops_standard(void) {
	allocate();
	__asm__ volatile("");
}
__attribute__((noinline)) void execute_ex(void) {
	allocate();
	__asm__ volatile("");
}
void zend_execute(void) { execute_ex(); }

int main(int argc, char **argv) {
	static struct {
		unsigned short size;
		unsigned api;
		unsigned char debug, threads;
	} module = {168, 20220829, 0, 0};
	static void *entries[4] = {&module};
	if (argc < 3) return 2;
	srand((unsigned)atoi(argv[2]));
	module_registry[2] = (uintptr_t)entries;
	if (pthread_key_create(&PL_thr_key, NULL) || pthread_setspecific(PL_thr_key, words)) return 1;
	if (!strcmp(argv[1], "perl"))
		Perl_runops_standard();
	else
		zend_execute();
	return 0;
}
