// What processes do: threads, forks, exec, signals. The first argument selects the case. Each prints
// what the test expects without the engine, too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../internal/record/testdata/dispositions.h"

#define SITE __attribute__((noinline)) static void
extern char **environ;
static void *volatile sink;

SITE site_keep(size_t size) { sink = malloc(size); }

static void wait_for_input(void) {
	char c;
	while (read(0, &c, 1) < 0 && errno == EINTR) {}
}

static void say(const char *text) { dprintf(1, "%s\n", text); }

// --- threads, forks ---

static volatile int stop;

static void *churn(void *argument) {
	unsigned x = (unsigned)(size_t)argument;
	void *blocks[256] = {0};
	while (!stop) {
		x = x * 1664525u + 1013904223u;
		unsigned k = x >> 24;
		size_t size = (x >> 8) & 4095;
		if ((x & 1023) == 7) munmap(mmap(NULL, 1 << 17, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 17);
		switch (x & 7) {
		case 0: blocks[k] = realloc(blocks[k], size + 1); break;
		case 1:
			free(blocks[k]);
			if (posix_memalign(&blocks[k], 64, size)) blocks[k] = NULL;
			break;
		case 2:
			free(blocks[k]);
			blocks[k] = calloc(size, 2);
			break;
		default:
			free(blocks[k]);
			blocks[k] = malloc(size);
		}
	}
	for (int i = 0; i < 256; i++) free(blocks[i]);
	return NULL;
}

// forks forks n children, one after another, while four threads allocate. Each child allocates and
// ends in one of three ways.
static int forks(int n) {
	pthread_t threads[4];
	int bad = 0;
	for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < n; i++) {
		int unseen = i % 5 == 4; // without the C library, whose locks may then be held in the child
		pid_t pid = unseen ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		if (pid == 0) {
			munmap(mmap(NULL, 1 << 17, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 17);
			for (int k = 0; !unseen && k < 500; k++) free(malloc((size_t)k * 7 + 1));
			if (unseen) syscall(SYS_exit_group, 4);
			if (i % 2) _exit(4);
			exit(4);
		}
		int status;
		bad += waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 4;
	}
	stop = 1;
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	printf("%d bad\n", bad);
	return bad != 0;
}

// --- a signal handler that allocates, threads that come and go, libraries that are unloaded ---

static volatile int alarms;
static void on_alarm(int sig) {
	(void)sig;
	int before = errno;
	alarms++;
	errno = before;
}

static void *short_lived(void *argument) {
	free(malloc(100000));
	return argument;
}

static void *come_and_go(void *argument) {
	for (int i = 0; i < 300; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, short_lived, NULL) == 0) pthread_join(t, NULL);
	}
	return argument;
}

static void *load_and_unload(void *argument) {
	for (int i = 0; i < 200; i++) {
		void *library = dlopen(argument, RTLD_NOW);
		void *(*allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, "allocate") : NULL;
		if (!allocate) exit(5);
		free(allocate(5000));
		dlclose(library);
	}
	return NULL;
}

static int stress(char *library) {
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	pthread_t t[4];
	pthread_create(&t[0], NULL, churn, (void *)1);
	pthread_create(&t[1], NULL, churn, (void *)2);
	pthread_create(&t[2], NULL, come_and_go, NULL);
	pthread_create(&t[3], NULL, load_and_unload, library);
	pthread_join(t[2], NULL);
	pthread_join(t[3], NULL);
	while (alarms < 3) free(malloc(1000));
	stop = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	say("ok");
	return 0;
}

// --- exec ---

static int execute(char *self, const char *how) {
	char *argv[] = {self, "image", NULL};
	char path[4096];
	snprintf(path, sizeof path, "%s", self);
	errno = 0;
	if (execl("/does/not/exist", "x", (char *)NULL) != -1 || errno != ENOENT) return 6;
	site_keep(1000);
	if (!strcmp(how, "execve")) execve(self, argv, environ);
	if (!strcmp(how, "execv")) execv(self, argv);
	if (!strcmp(how, "execvp")) execvp(self, argv);
	if (!strcmp(how, "execvpe")) execvpe(self, argv, environ);
	if (!strcmp(how, "execl")) execl(self, self, "image", (char *)NULL);
	if (!strcmp(how, "execlp")) execlp(self, self, "image", (char *)NULL);
	if (!strcmp(how, "execle")) execle(self, self, "image", (char *)NULL, environ);
	if (!strcmp(how, "fexecve")) fexecve(open(self, O_RDONLY), argv, environ);
#if !defined __GLIBC__ || __GLIBC_PREREQ(2, 34)
	if (!strcmp(how, "execveat")) execveat(AT_FDCWD, self, argv, environ, 0);
#endif
	return 7;
}

static int spawn(char *self) {
	char *argv[] = {self, "image", NULL};
	pid_t pid;
	int status;
	site_keep(1000);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0) return 8;
	waitpid(pid, &status, 0);
	if ((pid = vfork()) == 0) {
		execv(self, argv);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	if ((pid = vfork()) == 0) _exit(3);
	waitpid(pid, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return system("exit 4") == 4 << 8 ? 0 : 10;
}

// --- signals ---

static void signals(const char *how) {
	site_keep(1000);
	if (!strcmp(how, "handler")) {
		signal(SIGTERM, on_signal);
		signal(SIGINT, on_signal);
	}
	if (!strcmp(how, "ignore")) signal(SIGTERM, SIG_IGN);
	say("ready");
	for (;;) wait_for_input(), say("input");
}

// --- what a program can see of the engine ---

static int descriptors(void) { // the lowest free numbers, while snapshots are taken
	for (int i = 0; i < 300; i++) {
		free(malloc(1 << 20));
		int fd = open("/dev/null", O_RDONLY);
		if (fd != 3) return 11;
		close(fd);
	}
	struct rlimit none = {3, 3};
	setrlimit(RLIMIT_NOFILE, &none); // the program has used up its descriptors
	site_keep(1000);
	say("ok");
	return 0;
}

static int single(void) { // needs a process with one thread
	for (int i = 0; i < 100; i++) free(malloc(1 << 20));
	int result = unshare(CLONE_NEWUSER);
	printf("%s\n", result == 0 ? "unshared" : strerror(errno));
	for (int i = 0; i < 100; i++) free(malloc(1 << 20));
	return 0;
}

static int sandbox(void) { // strict mode allows read, write and exit only
	free(malloc(1 << 20));
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, 1) != 0) return 12;
	for (int i = 0; i < 64; i++) sink = malloc(4000);
	if (write(1, "ok\n", 3) < 0) return 14;
	syscall(SYS_exit, 0);
	return 13;
}

static void *last_thread(void *argument) {
	pthread_join(*(pthread_t *)argument, NULL);
	for (int i = 0; i < 100; i++) free(malloc(1 << 20));
	say("last thread");
	return NULL;
}

static void leave_main(void) { // the process ends with its last thread
	static pthread_t self;
	pthread_t t;
	self = pthread_self();
	free(malloc(1 << 20));
	pthread_create(&t, NULL, last_thread, &self);
	pthread_exit(NULL);
}

static void member(void) {
	site_keep(1 << 20);
	wait_for_input();
}

// family starts a fork and then each of the given programs, and prints their process numbers. The file
// newer becomes that of this program first.
static int family(char **argv, char **paths) {
	pid_t pid = fork();
	if (pid == 0) return member(), 0;
	printf("%d\n", pid);
	for (; *paths; paths++) {
		char *path = *paths;
		const char *name = strrchr(path, '/');
		if (name && !strcmp(name, "/newer")) {
			if (rename(path, argv[0]) != 0) return 11;
			path = argv[0];
		}
		char *arguments[] = {path, "member", NULL};
		if (posix_spawn(&pid, path, NULL, NULL, arguments, environ) != 0) return 12;
		printf("%d\n", pid);
	}
	fflush(stdout);
	member();
	return 0;
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
	if (!strcmp(what, "forks")) return forks(atoi(how));
	if (!strcmp(what, "stress")) return stress(argv[2]);
	if (!strcmp(what, "exec")) return execute(argv[0], how);
	if (!strcmp(what, "spawn")) return spawn(argv[0]);
	if (!strcmp(what, "dispositions")) dispositions(), raise(SIGINT);
	if (!strcmp(what, "signals")) signals(how);
	if (!strcmp(what, "descriptors")) return descriptors();
	if (!strcmp(what, "single")) return single();
	if (!strcmp(what, "sandbox")) return sandbox();
	if (!strcmp(what, "leave-main")) leave_main();
	if (!strcmp(what, "_exit")) site_keep(1000), _exit(3);
	if (!strcmp(what, "image")) site_keep(2000);
	if (!strcmp(what, "family")) return family(argv, argv + 2);
	if (!strcmp(what, "member")) member();
	if (!strcmp(what, "idle")) site_keep(1 << 20), say("ready"), wait_for_input();
	return 0;
}
