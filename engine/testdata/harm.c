// Programs that do what an engine inside of them must survive. Usage: harm WHAT [ARG]
//
//	clone CALL      a child of clone(), for which no handler of fork runs, calls setuid, prctl, chroot,
//	                unshare or nothing
//	failed SIZE     one malloc that fails, then 64 MiB are kept
//	filter COMMAND  forbids all system calls but those of a simple program, and becomes the command
//	deny ERROR NUMBERS COMMAND
//	                makes system calls (316,436) fail with an error, and becomes the command
//	loader          forks while another thread has a lock of the loader, which the child never gets
//	queue           waits for messages of a queue while the engine's thread begins
//	sum             a simple program
//	unmap           munmap and mremap that fail, and some that do not
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"

static int in_clone(void *call) {
	const char *what = call;
	alarm(60); // a child that hangs ends
	if (!strcmp(what, "setuid")) return setuid(getuid());
	if (!strcmp(what, "prctl")) return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(what, "chroot")) return chroot("/") && errno != EPERM;
	if (!strcmp(what, "unshare")) return unshare(CLONE_FS);
	for (int i = 0; i < 1000; i++) free(malloc(100000));
	return 0;
}

static int clone_child(char *call) {
	static char stack[256 << 10] __attribute__((aligned(16)));
	int status = -1;
	for (int i = 0; i < 2000; i++) free(malloc(100000)); // samples: the writer is created
	pid_t child = clone(in_clone, stack + sizeof stack, SIGCHLD, call);
	if (child < 0 || waitpid(child, &status, 0) != child) return 1;
	printf("%d\n", status);
	return 0;
}

__attribute__((noinline)) void *site_keep(size_t size) {
	void *p = malloc(size);
	if (p) memset(p, 1, size);
	__asm__ volatile("" : : "r"(p));
	return p;
}

static int failed(const char *text) {
	volatile size_t size = strtoull(text, NULL, 0);
	if (malloc(size)) return 1;
	for (int i = 0; i < 64; i++) site_keep(1 << 20);
	return 0;
}

// become runs a command under a filter.
static int become(char **command, const int *calls, size_t n, unsigned action, unsigned otherwise) {
	struct filter f;
	struct sock_fprog *program = filter_make(&f, calls, n, action, otherwise);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)) return 1;
	execv(command[0], command);
	return 1;
}

static int filter(char **command) {
	static const int permitted[] = {
		SYS_read, SYS_write, SYS_openat, SYS_close, SYS_fstat, SYS_newfstatat, SYS_lseek, SYS_mmap, SYS_mprotect,
		SYS_munmap, SYS_brk, SYS_pread64, SYS_faccessat, SYS_execve, SYS_exit_group, SYS_set_tid_address,
		SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom, SYS_futex, SYS_ioctl, SYS_readlinkat,
#ifdef __x86_64__
		SYS_access, SYS_arch_prctl, SYS_open, SYS_stat, SYS_readlink,
#endif
	};
	return become(command, permitted, sizeof permitted / sizeof *permitted, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}

static int deny(char **argv) {
	int calls[FILTER_CALLS];
	size_t n = 0;
	for (char *t = argv[1]; *t && n < FILTER_CALLS; t += *t == ',') calls[n++] = (int)strtoul(t, &t, 10);
	return become(argv + 2, calls, n, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[0]), SECCOMP_RET_ALLOW);
}

static int threads(void) {
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	while (d && readdir(d)) n++;
	if (d) closedir(d);
	return n - 2; // . and ..
}

// queue prints whether the kernel still knows that the program waits for a message.
static int queue(void) {
	char name[64];
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	snprintf(name, sizeof name, "/heaplapse-test-%d", getpid());
	mqd_t q = mq_open(name, O_RDONLY | O_CREAT, 0600, NULL);
	if (q == (mqd_t)-1) {
		puts("no queues");
		return 0;
	}
	mq_unlink(name);
	if (mq_notify(q, &none) != 0 || threads() != 1) return 1;
	raise(SIGUSR2); // asks for a snapshot
	for (int i = 0; i < 6000 && threads() == 1; i++) usleep(10000);
	usleep(200000);
	puts(mq_notify(q, &none) != 0 && errno == EBUSY ? "waits" : "forgotten");
	return 0;
}

static volatile int visiting;

static int visit(struct dl_phdr_info *object, size_t size, void *pass) {
	(void)object, (void)size, (void)pass;
	visiting = 1;
	for (;;) pause();
}

static void *iterate(void *arg) {
	dl_iterate_phdr(visit, NULL);
	return arg;
}

static int loader(void) {
	enum { MANY = 200 };
	pthread_t thread;
	int status;
	pthread_create(&thread, NULL, iterate, NULL);
	while (!visiting) usleep(1000);
	pid_t child = fork();
	if (child == 0) {
		alarm(60); // a child that hangs ends
		for (int i = 0; i < MANY; i++) {
			free(malloc(100000));
			munmap(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 20);
		}
		if (setuid(getuid())) _exit(1);
		usleep(100000); // a snapshot is due
		execl("/bin/true", "true", NULL);
	}
	if (waitpid(child, &status, 0) != child) return 1;
	printf("%d\n", status);
	fflush(stdout);
	_exit(0);
}

static int sum(void) {
	size_t total = 0;
	for (int i = 1; i < 3000; i++) {
		char *p = malloc(100000);
		p[i] = 1;
		p = realloc(p, 200000);
		total += (size_t)p[i];
		free(p);
	}
	printf("%zu\n", total);
	return 0;
}

enum { SIZE = 1 << 20 };

__attribute__((noinline)) char *site_map(void) {
	return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int unmap(void) {
	char *kept = site_map(), *gone = site_map(), *moved = site_map();
	if (munmap(kept + 1, SIZE) == 0 || munmap(kept, 0) == 0 || mremap(kept, 0, SIZE, 0) != MAP_FAILED) return 1;
	if (mremap(kept, SIZE, SIZE_MAX / 2, MREMAP_MAYMOVE) != MAP_FAILED) return 1; // the region stays recorded
	if (munmap(gone, SIZE)) return 1;
	moved = mremap(moved, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	return moved == MAP_FAILED || munmap(moved, 2 * SIZE);
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "clone")) return clone_child(argv[2]);
	if (!strcmp(what, "failed")) return failed(argv[2]);
	if (!strcmp(what, "filter")) return filter(argv + 2);
	if (!strcmp(what, "deny")) return deny(argv + 2);
	if (!strcmp(what, "loader")) return loader();
	if (!strcmp(what, "queue")) return queue();
	if (!strcmp(what, "sum")) return sum();
	if (!strcmp(what, "unmap")) return unmap();
	return 2;
}
