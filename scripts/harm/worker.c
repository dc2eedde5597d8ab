// Allocates for some time, writes to a file when it returns, and ends with status 42.
// Usage: worker exit|term|fork|exec SECONDS FILE. It returns after the time; "term" does on SIGTERM, "fork"
// forks twenty times a second meanwhile, and "exec" becomes itself after half of the time.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static void on_term(int s) { (void)s, stop = 1; }

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void allocate(void) {
	enum { BLOCKS = 50 };
	static void *kept[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		free(kept[i]);
		if ((kept[i] = malloc(20000))) memset(kept[i], i, 20000);
	}
}

static void fork_once(void) {
	int status;
	pid_t child = fork();
	if (child == 0) {
		allocate();
		exit(7);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) exit(9);
}

int main(int argc, char **argv) {
	if (argc < 4) return 2;
	const char *mode = argv[1];
	double begin = now(), seconds = atof(argv[2]), longest = 0;
	if (!strcmp(mode, "term")) signal(SIGTERM, on_term);
	int execs = !strcmp(mode, "exec");
	while (!stop && now() < begin + seconds / (1 + execs)) {
		double since = now();
		allocate();
		if (!strcmp(mode, "fork")) fork_once();
		if (now() - since > longest) longest = now() - since;
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	FILE *f = fopen(argv[3], "a");
	if (!f) return 8;
	fprintf(f, "%f %f %f\n", begin, now(), longest);
	fclose(f);
	if (execs) {
		char rest[32];
		snprintf(rest, sizeof rest, "%f", seconds / 2);
		execl(argv[0], argv[0], "exit", rest, argv[3], NULL);
		return 10;
	}
	return 42;
}
