// Programs without handlers of signals, and those that set one later. Each allocation is a sample. See quiet_test.go.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what) {
	fprintf(stderr, "%s\n", what);
	_exit(3);
}

static void allocate(int n) {
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(32);
		free(p);
	}
}

static atomic_long rounds; // of the other thread

static void *go_on(void *unused) {
	for (;;) {
		allocate(10);
		rounds++;
	}
	return unused;
}

// wait_for_other needs the other thread to take samples. An interrupted one must not hinder it.
static void wait_for_other(int sig) {
	long before = rounds;
	for (int i = 0; i < 20000 && rounds < before + 100; i++) usleep(1000);
	if (rounds < before + 100) fail("the other thread stands still");
	(void)sig;
}

static atomic_int handled;

static void handler(int sig) {
	wait_for_other(sig);
	handled++;
}

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

// set_handler uses a function of the C library, or a system call, which the engine sees at the next snapshot.
static void set_handler(const char *how) {
	if (!strcmp(how, "sigaction")) {
		struct sigaction a = {.sa_handler = handler};
		sigaction(SIGUSR1, &a, NULL);
	} else if (!strcmp(how, "signal")) {
		signal(SIGUSR1, handler);
	} else {
		struct sigaction a = {.sa_handler = handler};
		struct kernel_action k;
		sigaction(SIGURG, &a, NULL); // the restorer is that of the C library
		syscall(SYS_rt_sigaction, SIGURG, NULL, &k, 8);
		signal(SIGURG, SIG_DFL);
		syscall(SYS_rt_sigaction, SIGUSR1, &k, NULL, 8);
		sleep(1);
	}
}

static void interrupt_samples(const char *how) {
	enum { TIMES = 200 };
	pthread_t busy, other;
	pthread_create(&other, NULL, go_on, NULL);
	pthread_create(&busy, NULL, go_on, NULL);
	usleep(100000);
	set_handler(how);
	for (int i = 0; i < TIMES; i++) {
		pthread_kill(i % 2 ? busy : other, SIGUSR1);
		while (handled <= i) usleep(100);
	}
	printf("%d\n", handled);
}

// deeply allocates below many frames, so that a sample takes long.
static __attribute__((noinline)) void deeply(int depth) {
	if (depth == 0) return allocate(100);
	deeply(depth - 1);
	__asm__ volatile(""); // no tail call
}

// wait_for_signals ends when its input does. A signal that was kept away from a sample must not stay blocked.
static void wait_for_signals(void) {
	puts("ready");
	fflush(stdout);
	for (;;) {
		sigset_t blocked, none;
		deeply(100);
		sigemptyset(&none);
		pthread_sigmask(SIG_BLOCK, &none, &blocked);
		if (memcmp(&blocked, &none, 8) != 0) fail("a signal is blocked");
	}
}

static void *nothing(void *unused) { return unused; }

// calls makes the system calls of 1,000 samples between two calls of getsid.
static void calls(const char *how) {
	pthread_t thread;
	allocate(1000);
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, nothing, NULL);
		pthread_join(thread, NULL);
		sleep(1); // some snapshots
	} else if (strcmp(how, "none") != 0) {
		signal(SIGUSR1, strcmp(how, "ignored") ? handler : SIG_IGN);
	}
	getsid(0);
	allocate(1000);
	getsid(0);
}

int main(int argc, char **argv) {
	if (argc < 3) fail("see quiet_test.go");
	if (!strcmp(argv[1], "interrupt")) interrupt_samples(argv[2]);
	if (!strcmp(argv[1], "signals")) wait_for_signals();
	if (!strcmp(argv[1], "calls")) calls(argv[2]);
	fflush(stdout);
	_exit(0);
}
