// A test of signal dispositions, for programs that run with the adapter or with the built-in engine.
// Both handle signals, and must hide that from the program.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_signal(int sig) {
	(void)sig;
	if (write(1, "handled\n", 8) < 0) _exit(3);
}

static void (*disposition(int sig))(int) {
	struct sigaction a;
	return sigaction(sig, NULL, &a) == 0 ? a.sa_handler : SIG_ERR;
}

// dispositions prints 1 for each call that behaves as POSIX requires. At the end, SIGINT has its
// default action.
static void dispositions(void) {
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_NODEFER}, old;
	sigaddset(&a.sa_mask, SIGUSR1);
	printf("%d", disposition(SIGINT) == SIG_DFL && disposition(SIGTERM) == SIG_DFL);
	printf("%d", signal(SIGINT, on_signal) == SIG_DFL && disposition(SIGINT) == on_signal);
	printf("%d", signal(SIGINT, SIG_IGN) == on_signal && disposition(SIGINT) == SIG_IGN && raise(SIGINT) == 0);
	printf("%d", sigaction(SIGINT, &a, &old) == 0 && old.sa_handler == SIG_IGN);
	printf("%d", sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler == on_signal && sigismember(&old.sa_mask, SIGUSR1) &&
		(old.sa_flags & (SA_RESETHAND | SA_NODEFER | SA_SIGINFO | SA_RESTART)) == (SA_RESETHAND | SA_NODEFER));
	printf("%d", sysv_signal(SIGTERM, on_signal) == SIG_DFL && signal(SIGTERM, SIG_DFL) == on_signal);
	fflush(stdout);
	if (vfork() == 0) { // the child shares memory, but not dispositions
		signal(SIGINT, SIG_DFL);
		_exit(disposition(SIGINT) != SIG_DFL);
	}
	int status;
	wait(&status);
	printf("%d", status == 0 && disposition(SIGINT) == on_signal);
	fflush(stdout);
	printf("%d\n", raise(SIGINT) == 0 && disposition(SIGINT) == SIG_DFL);
	fflush(stdout);
}
