// Allocates in four phases. Between them it waits until a recording in the directory argv[1] has two more snapshots. The
// blocks of the second phase are freed in the last.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int snapshots(const char *dir) {
	DIR *d = opendir(dir);
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, ".heap") && !strstr(e->d_name, ".tmp");
	if (d) closedir(d);
	return n;
}

static void await(const char *dir, int n) {
	struct timespec t = {0, 10000000};
	while (snapshots(dir) < n) nanosleep(&t, NULL);
}

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

int main(int argc, char **argv) {
	if (argc != 2) return 2;
	phase_1(first);
	await(argv[1], 2);
	phase_2(second);
	await(argv[1], 4);
	phase_3(third);
	await(argv[1], 6);
	for (int i = 0; i < BLOCKS; i++) free(second[i]);
	phase_4(fourth);
	await(argv[1], 9);
	return 0;
}
