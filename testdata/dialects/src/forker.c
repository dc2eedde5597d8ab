/* forker SECONDS: forks after 3 seconds, without exec. The parent leaks 2048
 * bytes 31 times a second in parent_record (62 KiB/s); the child 512 bytes 50
 * times a second in child_record (25 KiB/s), both in bursts at random moments.
 * Under HEAPPROFILE both write files of the same names, now one, now the other. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *volatile last;

__attribute__((noinline)) static void parent_record(int i) {
  char *p = malloc(2048);
  memset(p, i, 2048);
  last = p;
}

__attribute__((noinline)) static void child_record(int i) {
  char *p = malloc(512);
  memset(p, i, 512);
  last = p;
}

__attribute__((noinline)) static void shared_setup(void) {
  for (int i = 0; i < 300; i++) last = memset(malloc(1000), i, 1000);
}

/* Calls `record` rate times a second, in a burst every 200 to 900 ms, so that the
 * two processes' dumps (made inside malloc) come at different moments. */
static void bursts(void (*record)(int), int rate, int ms, unsigned random) {
  for (int at = 0, done = 0; at < ms;) {
    random = random * 1103515245u + 12345u;
    int wait = 200 + (int)(random >> 16) % 700;
    struct timespec t = {0, wait * 1000000L};
    nanosleep(&t, NULL);
    at += wait;
    for (; done < at * rate / 1000; done++) record(done);
  }
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 24;
  shared_setup();
  bursts(parent_record, 31, 3000, 1);
  pid_t child = fork();
  if (child == 0) {
    bursts(child_record, 50, (seconds - 3) * 1000, 2);
    _exit(0); /* no last dump of its own */
  }
  fprintf(stderr, "forker: parent %d, child %d\n", (int)getpid(), (int)child);
  bursts(parent_record, 31, (seconds - 3) * 1000, 3);
  waitpid(child, NULL, 0);
  _exit(0);
}
