// A program to which a timer sends a signal every 20 microseconds, as profilers do more slowly.
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static void on_alarm(int s) {
	(void)s;
	alarms++;
}

int main(void) {
	struct timespec every = {0, 20000};
	struct itimerspec t = {every, every};
	timer_t timer;
	signal(SIGALRM, on_alarm);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0 || timer_settime(timer, 0, &t, NULL) != 0) return 1;
	puts("ready");
	fflush(stdout);
	for (;;) pause();
}
