// Becomes a command under a seccomp filter, as systemd's SystemCallFilter= does.
// Usage: filter kill|ERRNO COMMAND… with the names of the permitted system calls on the lines of FILTER_LIST.
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
	char line[256], *names = getenv("FILTER_LIST");
	FILE *f = names ? fopen(names, "r") : NULL;
	if (argc < 3 || !f) return 125;
	uint32_t otherwise = strcmp(argv[1], "kill") ? SCMP_ACT_ERRNO(atoi(argv[1])) : SCMP_ACT_KILL_PROCESS;
	scmp_filter_ctx filter = seccomp_init(otherwise);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		int number = seccomp_syscall_resolve_name(line);
		if (number != __NR_SCMP_ERROR) seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0); // fails if it is of another processor
	}
	fclose(f);
	if (seccomp_load(filter) != 0) return 125;
	execvp(argv[2], argv + 2);
	return 127;
}
