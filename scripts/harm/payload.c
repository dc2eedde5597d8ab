// Allocates in three threads for some seconds, prints a sum, and ends with status 3.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 250, BLOCKS = 40, SIZE = 20000 };

static void *work(void *arg) {
	long sum = 0;
	struct timespec pause = {0, 10000000};
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < BLOCKS; k++) {
			char *p = malloc(SIZE);
			memset(p, i % 100, SIZE);
			sum += p[SIZE - 1];
			if (k % 8) free(p);
		}
		nanosleep(&pause, NULL);
	}
	*(long *)arg = sum;
	return NULL;
}

int main(void) {
	long sum[THREADS], all = 0;
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, &sum[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		all += sum[i];
	}
	printf("sum %ld\n", all);
	return 3;
}
