// Loads and unloads a library, creates threads, forks, and gets a signal each millisecond, until
// SIGTERM. It checks that nothing is lost.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile long alarms;
static void on_term(int s) { (void)s, stop = 1; }
static void on_alarm(int s) { (void)s, alarms++; }

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

static const char *plugin;
static long loads, threads, forks;

static void *load(void *arg) {
    while (!stop) {
        void *h = dlopen(plugin, RTLD_NOW | (loads % 2 ? RTLD_LAZY : 0));
        if (!h) fail(dlerror());
        char *(*copy)(const char *) = (char *(*)(const char *))dlsym(h, "plugin_copy");
        char *p = copy("hello");
        if (strcmp(p, "hello") != 0) fail("copy");
        free(p);
        if (dlclose(h) != 0) fail("dlclose");
        loads++;
    }
    return arg;
}

static void *one(void *arg) {
    char *p = malloc(100);
    memset(p, 1, 100);
    free(p);
    return arg;
}

static void *spawn(void *arg) {
    while (!stop) {
        pthread_t t;
        void *result;
        if (pthread_create(&t, NULL, one, arg) != 0) fail("pthread_create");
        if (pthread_join(t, &result) != 0 || result != arg) fail("pthread_join");
        threads++;
    }
    return arg;
}

static void *fork_all(void *arg) {
    while (!stop) {
        pid_t p = fork();
        if (p < 0) fail("fork");
        if (p == 0) {
            free(malloc(1000));
            _exit(7);
        }
        int status;
        while (waitpid(p, &status, 0) < 0)
            if (errno != EINTR) fail("waitpid");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) fail("child");
        forks++;
    }
    return arg;
}

int main(int argc, char **argv) {
    (void)argc;
    plugin = argv[1];
    struct sigaction a = {.sa_handler = on_term}, b = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGALRM, &b, NULL);
    struct itimerval i = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &i, NULL);
    pthread_t t[3];
    pthread_create(&t[0], NULL, load, &t);
    pthread_create(&t[1], NULL, spawn, &t);
    pthread_create(&t[2], NULL, fork_all, &t);
    printf("ready\n");
    fflush(stdout);
    while (!stop) {
        char *p = malloc(50000);
        memset(p, 2, 50000);
        if (p[49999] != 2) fail("data");
        free(p);
        usleep(100);
    }
    for (int k = 0; k < 3; k++) pthread_join(t[k], NULL);
    if (alarms == 0) fail("no signals");
    printf("%ld loads %ld threads %ld forks %ld signals\n", loads, threads, forks, alarms);
    printf("done\n");
    return 0;
}
