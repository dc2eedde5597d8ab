// Keeps blocks in a list and loses as many. It starts children, and fails if wait(2) tells of a stranger. It ends with
// status 7 after as many rounds of 1 ms as its argument says, or is killed by itself if that is 0. With a second
// argument, it ends by exit and not by the return of main. An exit handler frees the list.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct block {
    struct block *next;
    char content[4000];
};

struct block *kept_blocks;

__attribute__((noinline)) static void keep(void) {
    struct block *b = malloc(sizeof *b);
    if (!b) exit(99);
    memset(b->content, 1, sizeof b->content);
    b->next = kept_blocks;
    kept_blocks = b;
}

__attribute__((noinline)) static void lose(void) {
    struct block *volatile b = malloc(sizeof *b);
    if (!b) exit(99);
    memset(b->content, 1, sizeof b->content);
    b = NULL;
}

static void start_child(void) {
    pid_t child = fork();
    if (child == 0) _exit(3);
    int status;
    if (waitpid(-1, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) exit(98);
    if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD) exit(97);
}

static void free_list(void) {
    while (kept_blocks) {
        struct block *next = kept_blocks->next;
        free(kept_blocks);
        kept_blocks = next;
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    atexit(free_list);
    for (int i = 0; rounds == 0 || i < rounds; i++) {
        for (int n = 0; n < 20; n++) {
            keep();
            lose();
        }
        if (i % 50 == 0) start_child();
        if (rounds == 0 && i == 1500) kill(getpid(), SIGKILL);
        usleep(1000);
    }
    if (argc > 2) exit(7);
    return 7;
}
