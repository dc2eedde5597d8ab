// Forks in eight threads at the same time, which use a library between the forks whose handlers of fork
// allocate, lock, or wait for its threads. Each child allocates and ends. Usage: forks NUMBER [WAIT]. With
// WAIT, it says "ready" and begins after a line of standard input.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined OPENBLAS
#include <cblas.h>
enum { SIZE = 160, ALONE = 1 }; // OpenBLAS hangs by itself if a thread multiplies while another one forks
static void use_library(void) {
	static const double a[SIZE * SIZE] = {1}, b[SIZE * SIZE] = {2};
	double *c = calloc(SIZE * SIZE, sizeof *c);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
	if (c[0] != 2) abort();
	free(c);
}
#elif defined GOMP
enum { ALONE = 0 };
static void use_library(void) {
	int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
	for (int i = 0; i < 90; i++) {
		char *volatile p = malloc(1000 + (size_t)i);
		sum += p != NULL;
		free(p);
	}
	if (sum != 90) abort();
}
#else // the allocator is the library
enum { ALONE = 0 };
static void use_library(void) {}
#endif

enum { THREADS = 8 };
static int each, bad;
static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

static void allocate(void) {
	void *p[200];
	for (size_t i = 0; i < 200; i++) {
		p[i] = malloc(i * 97 + 1);
		memset(p[i], (int)i, i * 97 + 1);
	}
	for (size_t i = 0; i < 200; i++) free(p[i]);
}

static void *fork_some(void *arg) {
	for (int i = 0; i < each; i++) {
		if (ALONE) pthread_mutex_lock(&library);
		use_library();
		pid_t child = fork();
		if (child == 0) {
			allocate();
			if (i % 2) _exit(7);
			exit(7);
		}
		if (ALONE) pthread_mutex_unlock(&library);
		allocate();
		int status;
		pid_t got;
		while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
		if (child < 0 || got != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t[THREADS];
	each = atoi(argv[1]) / THREADS;
	use_library();
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		(void)getchar();
	}
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, fork_some, NULL);
	for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
	fprintf(stderr, "%d forks, %d bad\n", each * THREADS, bad);
	return bad != 0;
}
