// A program that uses the fake allocator. argv[1] is the prefix of snapshots, argv[2] selects the test, argv[3] is a file that it may make. The
// program prints what the adapter must not change.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dispositions.h"

int dump(const char *path);
int dump_creat(const char *path);
long ticks(void);
void say(const char *text);
int arm(const char *path, int refusals);
int readable(const void *at);

static char path[4096];
static char *name(const char *prefix, const char *rest) {
	snprintf(path, sizeof path, "%s%s", prefix, rest);
	return path;
}

// inherited closes the files that the program may have inherited, and opens two of its own. It
// prints 1 for each check that is right: of addresses that can be read or not, of errno, of the
// numbers of the files, and that one of them is still empty.
static void inherited(const char *name) {
	static const int before[] = {0, EAGAIN, EINTR, 77};
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + 4096, 4096, PROT_NONE);
	printf("%d", readable(path));
	for (int fd = 3; fd < 64; fd++) close(fd);
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	printf("%d%d", fd == 3, open(name, O_WRONLY) == 4);
	for (unsigned i = 0; i < sizeof before / sizeof *before; i++) {
		errno = before[i];
		printf("%d", readable(pages));
		printf("%d", errno == (before[i] == EINTR ? EAGAIN : before[i]));
		printf("%d%d%d", readable(pages + 4095), !readable(pages + 4096), !readable(NULL));
	}
	printf("%d\n", lseek(fd, 0, SEEK_END) == 0);
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	const char *p = argv[1], *what = argv[2];
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(what, "names")) {
		errno = 77;
		dump(name(p, ".0001.heap"));
		dump(name(p, "_1234.0002.heap"));
		dump_creat(name(p, ".99.0.i0.heap"));
		dump_creat(name(p, ".99.1.f.heap"));
		printf("%d %d\n", getpid(), errno);
	} else if (!strcmp(what, "exec")) {
		dump(name(p, ".0001.heap"));
		dump(name(p, ".0002.heap"));
		printf("%d\n", getpid());
		execl(argv[0], argv[0], p, "after", NULL);
	} else if (!strcmp(what, "after")) {
		dump(name(p, "_77.0001.heap"));
	} else if (!strcmp(what, "fork") || !strcmp(what, "spawn")) {
		dump(name(p, ".0001.heap"));
		pid_t child = fork();
		if (child == 0 && !strcmp(what, "spawn")) execl(argv[0], argv[0], p, "after", NULL);
		if (child == 0) {
			dump(name(p, ".0002.heap"));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		dump(name(p, ".0003.heap"));
		printf("%d %d\n", getpid(), child);
	} else if (!strcmp(what, "dispositions")) {
		arm(name(p, ".0001.heap"), 0);
		dispositions();
		raise(SIGINT); // no snapshot for a signal from the process itself
	} else if (!strcmp(what, "default") || !strcmp(what, "busy") || !strcmp(what, "handler") || !strcmp(what, "ignored")) {
		arm(name(p, ".0001.heap"), !strcmp(what, "busy") ? 12 : 0);
		if (!strcmp(what, "handler")) signal(SIGTERM, on_signal);
		if (!strcmp(what, "ignored")) signal(SIGINT, SIG_IGN);
		printf("%d\n", getpid());
		for (;;) pause();
	} else if (!strcmp(what, "timer")) {
		struct timespec begin, end, wait = {0, 300000000};
		clock_gettime(CLOCK_MONOTONIC, &begin);
		long start = ticks(), next = ticks();
		clock_gettime(CLOCK_MONOTONIC, &end);
		// On a busy machine, the interval of 200 ms may pass between the two calls.
		int late = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec >= 190000000;
		nanosleep(&wait, NULL);
		printf("%d %d %d\n", start > 0, late || next == start, ticks() > start + 1000000);
	} else if (!strcmp(what, "inherited")) {
		inherited(argv[3]);
	} else if (!strcmp(what, "chatter")) {
		say("Dumping heap profile to x\n");
		say("Using signal 12 as heap profiling switch\n");
		say("<jemalloc>: failed to open \"x\"\n");
		say("Attempt to free invalid pointer\n");
		fprintf(stderr, "Dumping heap profile to y\n"); // a message of the program
	}
	return 0;
}
