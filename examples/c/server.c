// A server that keeps a session for every request. LEAK=0 ends each session. The cache is full after two seconds.
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct session {
	struct session *next;
	char data[4000];
};

static struct session *sessions;
static char *cache[512];
static int leak;

static struct session *open_session(int request) {
	struct session *s = malloc(sizeof *s);
	memset(s->data, request, sizeof s->data);
	s->next = sessions;
	sessions = s;
	return s;
}

static void close_session(struct session *s) {
	sessions = s->next;
	free(s);
}

static void cache_page(int request) {
	int slot = request % 512;
	free(cache[slot]);
	cache[slot] = malloc(16 * 1024);
	memset(cache[slot], request, 16 * 1024);
}

int main(void) {
	const char *setting = getenv("LEAK");
	leak = !setting || strcmp(setting, "0") != 0;
	time_t end = time(NULL) + 12;
	for (int request = 0; time(NULL) < end; request++) {
		struct session *s = open_session(request);
		cache_page(request);
		if (!leak)
			close_session(s);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}
