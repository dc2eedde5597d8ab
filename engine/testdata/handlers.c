// A library whose handlers of fork allocate, unmap, or wait for another thread that does. Its
// constructor registers them before the engine registers its own, so that they run inside them.
// HANDLER is "prepare", "parent" or "child", and WORK "malloc", "unmap" or "wait".
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void allocate(void) {
	char *p = malloc(8 << 20);
	*(volatile char *)p = 1;
	free(p);
}

static void unmap(void) {
	enum { SIZE = 1 << 20 };
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, SIZE);
}

static void *in_thread(void *unused) {
	for (int i = 0; i < 10; i++) allocate();
	unmap();
	return unused;
}

static void work(void) {
	const char *what = getenv("WORK");
	pthread_t thread;
	if (!what || !strcmp(what, "malloc"))
		allocate();
	else if (!strcmp(what, "unmap"))
		unmap();
	else if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

void handlers_register(void) {
	const char *which = getenv("HANDLER");
	if (!which) return;
	pthread_atfork(strcmp(which, "prepare") ? NULL : work, strcmp(which, "parent") ? NULL : work,
		strcmp(which, "child") ? NULL : work);
}

__attribute__((constructor)) static void start(void) { handlers_register(); }
