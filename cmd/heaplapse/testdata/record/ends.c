// Usage: ends HOW FILE. Makes call paths whose snapshot is larger than what the engine shares with the
// recorder, waits until FILE exists, and then
//   exit     exits with status 3
//   exec     becomes a shell that exits with status 3
//   fork     forks, and exits with the status of the child, 3
//   setuid   changes its user to itself, and exits with status 3
//   signal   is killed by SIGTERM
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATHS = 20000, DEPTH = 15, STATUS = 3 };

static void *volatile kept;

static void allocate(unsigned depth, unsigned path) {
	if (depth == 0)
		kept = malloc(16);
	else if (path & 1)
		allocate(depth - 1, path >> 1);
	else
		allocate(depth - 1, path >> 1);
	__asm__ volatile(""); // no tail call
}

int main(int argc, char **argv) {
	if (argc != 3) return 2;
	const char *how = argv[1];
	int status = STATUS << 8;
	do {
		for (unsigned i = 0; i < PATHS; i++) allocate(DEPTH, i);
		usleep(10000);
	} while (access(argv[2], F_OK) != 0);
	if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
	if (!strcmp(how, "fork") && fork() == 0) exit(STATUS);
	if (!strcmp(how, "fork") && wait(&status) < 0) return 1;
	if (!strcmp(how, "setuid") && setuid(getuid()) != 0) return 1;
	if (!strcmp(how, "signal")) raise(SIGTERM);
	return WEXITSTATUS(status);
}
