// Gives up the rights of root after SIGUSR1, as a service does that was started by root, and writes for
// each of its threads what it can still do. It allocates until SIGTERM. With the argument "dlsym" it
// calls functions whose addresses it has from the loader.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534 };
static volatile sig_atomic_t stop, drop;
static void on_term(int s) { (void)s, stop = 1; }
static void on_usr1(int s) { (void)s, drop = 1; }

// show writes the user, the group and the number of other groups of each thread.
static void show(void) {
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; (e = readdir(d));) {
        char path[300], line[300], name[32] = "", uid[64] = "", gid[64] = "", groups[64] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!f) continue;
        while (fgets(line, sizeof line, f)) {
            sscanf(line, "Name: %31s", name);
            sscanf(line, "Uid: %63[^\n]", uid);
            sscanf(line, "Gid: %63[^\n]", gid);
            sscanf(line, "Groups: %63[^\n]", groups);
        }
        fclose(f);
        printf("thread %s uid %s gid %s groups %s\n", name, uid, gid, groups);
    }
    closedir(d);
}

__attribute__((noinline)) static void leak_here(void) {
    volatile char *p = malloc(1000);
    *p = 1;
}

static void nap(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }

int main(int argc, char **argv) {
    signal(SIGTERM, on_term);
    signal(SIGUSR1, on_usr1);
    int (*groups)(size_t, const gid_t *) = setgroups, (*group)(gid_t) = setgid, (*user)(uid_t) = setuid;
    enum { ASK = 1000 };
    bool late = argc > 1 && !strcmp(argv[1], "dlsym");
    if (late) {
        groups = (int (*)(size_t, const gid_t *))dlsym(RTLD_DEFAULT, "setgroups");
        group = (int (*)(gid_t))dlsym(RTLD_DEFAULT, "setgid");
        user = (int (*)(uid_t))dlsym(RTLD_DEFAULT, "setuid");
    }
    puts("ready");
    fflush(stdout);
    while (!stop) {
        leak_here();
        nap();
        if (!drop) continue;
        drop = 0;
        if (late ? groups(0, NULL) || group(NOBODY) || user(NOBODY) : setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)) {
            perror("setuid");
            return 1;
        }
        for (int i = 0; late && i < ASK; i++) nap();
        show();
        puts("dropped");
        fflush(stdout);
    }
    puts("done");
    return 0;
}
