// Two threads that allocate and free much, so that musl unmaps memory all the time, while their call
// paths are taken. Usage: shrinking ROUNDS
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	char bytes[5000];
};

static int rounds;

__attribute__((noinline)) static void keep(struct node **head) {
	struct node *n = malloc(sizeof *n);
	memset(n, 1, sizeof *n);
	n->next = *head;
	*head = n;
}

__attribute__((noinline)) static void churn(void) {
	enum { BLOCKS = 200, SIZE = 1000 };
	void *p[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) memset(p[i] = malloc(SIZE), 1, SIZE);
	for (int i = 0; i < BLOCKS; i++) free(p[i]);
}

static void *work(void *unused) {
	struct node *head = NULL;
	for (int i = 0; i < rounds; i++) {
		keep(&head);
		churn();
	}
	return unused;
}

int main(int argc, char **argv) {
	pthread_t thread;
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	if (pthread_create(&thread, NULL, work, NULL)) return 1;
	work(NULL);
	return pthread_join(thread, NULL);
}
