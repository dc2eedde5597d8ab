// A thread that is about to fork waits as long as another one reads the tables of imports, because it has
// the loader's lock, but not for one that only waits for that lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/slots.h"

static volatile int inside, done, blocked;

// The loader's function, which takes longer than in other programs.
int dl_iterate_phdr(int (*visit)(struct hl_object *, size_t, void *), void *context) {
	struct hl_object none = {.name = ""};
	while (blocked) usleep(1000);
	visit(&none, sizeof none, context);
	inside = 1;
	usleep(50000);
	done = 1;
	return 0;
}

static void *replace(void *arg) {
	static const struct hl_replacement nothing[1];
	hl_slots_replace(nothing, 0, NULL);
	return arg;
}

static void *count(void *arg) {
	hl_slots_loads();
	return arg;
}

static int waits_for(void *(*f)(void *)) {
	pthread_t t;
	inside = done = 0;
	pthread_create(&t, NULL, f, NULL);
	while (!inside) usleep(100);
	hl_slots_forking();
	int waited = done;
	hl_slots_forked(false);
	pthread_join(t, NULL);
	return waited;
}

static int goes_on(void) {
	pthread_t t;
	blocked = 1;
	inside = 0;
	pthread_create(&t, NULL, replace, NULL);
	usleep(1000);
	hl_slots_forking(); // returns although the other thread does not go on
	hl_slots_forked(false);
	blocked = 0;
	pthread_join(t, NULL);
	return inside;
}

int main(void) {
	if (!waits_for(replace)) puts("a fork began while the tables were being replaced");
	if (!waits_for(count)) puts("a fork began while the objects were being counted");
	if (!goes_on()) puts("not visited");
	puts("ok");
}
