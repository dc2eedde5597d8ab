// Cancels threads in the middle of allocations. Usage: cancel deferred|asynchronous. What is printed is
// the same without the engine.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int cleaned, running;
static void clean(void *arg) {
	(void)arg;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static void *deferred(void *arg) {
	pthread_cleanup_push(clean, NULL);
	__atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		free(malloc(100000));
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return arg;
}

static void *asynchronous(void *arg) {
	int old;
	pthread_cleanup_push(clean, NULL);
	// A cancellation inside pthread_setcanceltype would run clean. One inside mmap does not, because mmap is
	// declared as a function that throws nothing.
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	__atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
	for (;;) { // these, unlike malloc, may be interrupted
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 1 << 20);
	}
	pthread_cleanup_pop(0);
	return arg;
}

int main(int argc, char **argv) {
	enum { ROUNDS = 100, THREADS = 4 };
	void *(*f)(void *) = argc > 1 && !strcmp(argv[1], "deferred") ? deferred : asynchronous;
	int canceled = 0;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t[THREADS];
		struct timespec pause = {0, i % 20 * 20000L};
		running = 0;
		for (int k = 0; k < THREADS; k++) pthread_create(&t[k], NULL, f, NULL);
		while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) < THREADS) sched_yield();
		nanosleep(&pause, NULL);
		for (int k = 0; k < THREADS; k++) pthread_cancel(t[k]);
		for (int k = 0; k < THREADS; k++) {
			void *result;
			pthread_join(t[k], &result);
			canceled += result == PTHREAD_CANCELED;
		}
		// Nobody holds a lock.
		void *p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 1 << 20);
		free(malloc(1 << 20));
	}
	printf("%d canceled, %d cleaned\n", canceled, cleaned);
}
