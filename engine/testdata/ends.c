// Ends in a given way, behind the end of its input. An exit handler makes a directory.
// Usage: ends DIRECTORY WAY
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *directory;
static void make(void) { mkdir(directory, 0700); }

static void *leave(void *status) {
    exit(*(int *)status);
    return NULL;
}

static void leave_on_signal(int sig) {
    (void)sig;
    exit(0);
}

// wait_for_child must not be told of a child that ends as the program itself does.
static void wait_for_child(pid_t child) {
    if (child == 0) _exit(5);
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) _exit(1);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *way = argv[2];
    int status = 0;
    directory = argv[1];
    free(malloc(1000));
    while (getchar() != EOF) continue;
    atexit(make);
    if (strcmp(way, "exit") == 0) exit(0);
    if (strcmp(way, "_exit") == 0) _exit(0);
    if (strcmp(way, "signal") == 0) {
        signal(SIGTERM, leave_on_signal);
        kill(getpid(), SIGTERM);
    }
    if (strcmp(way, "thread") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, leave, &status);
        pthread_join(t, NULL);
    }
    if (strcmp(way, "main thread ends") == 0) pthread_exit(NULL);
    if (strcmp(way, "children") == 0) {
        wait_for_child(fork());
        wait_for_child(vfork());
    }
    return status;
}
