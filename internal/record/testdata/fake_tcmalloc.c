// A fake profiling allocator for tests of the agent. It calls the same functions as gperftools and
// jemalloc.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// dump writes a snapshot as gperftools does. It returns 0 if the file cannot be opened.
int dump(const char *path) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0664);
	if (fd < 0) return 0;
	if (write(fd, path, strlen(path)) < 0) return 0;
	close(fd);
	return 1;
}

// dump_creat writes a snapshot as jemalloc does.
int dump_creat(const char *path) {
	int fd = creat(path, 0644);
	if (fd < 0) return 0;
	close(fd);
	return 1;
}

// ticks returns the time that the timer uses.
long ticks(void) { return time(NULL); }

void say(const char *text) {
	syscall(SYS_write, 2, text, strlen(text));
	if (write(2, text, strlen(text)) < 0) return;
}

static const char *requested;
static int busy;

static void on_request(int signal) {
	(void)signal;
	if (busy == 0) dump(requested);
	if (busy > 0) busy--;
}

// arm installs a signal handler that takes a snapshot, as HEAPPROFILESIGNAL does. The profiler is
// busy during the given number of requests.
int arm(const char *path, int refusals) {
	requested = path;
	busy = refusals;
	return signal(53, on_request) == SIG_DFL;
}
