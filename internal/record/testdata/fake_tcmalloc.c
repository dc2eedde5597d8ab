// A fake profiling allocator for tests of the adapter. It calls the same functions as gperftools and
// jemalloc.
#define _GNU_SOURCE
#include <errno.h>
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

// readable reports whether an address can be read. It is what libunwind does.
int readable(const void *at) {
	static int ends[2] = {-1, -1};
	char byte;
	long n;
	if (ends[0] == -1 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
	do n = read(ends[0], &byte, 1);
	while (errno == EINTR);
	if (n <= 0 && errno != EAGAIN) {
		close(ends[0]);
		close(ends[1]);
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
	}
	return syscall(SYS_write, ends[1], at, 1) > 0;
}
