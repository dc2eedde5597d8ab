// Runs under a seccomp filter, by the name of what it does, until SIGTERM.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void install(unsigned call, unsigned action) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {sizeof f / sizeof *f, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != 0) abort();
}

static void on_term(int s) {
    (void)s;
    _exit(0);
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    signal(SIGTERM, on_term);
    printf("ready\n");
    fflush(stdout);
    if (strcmp(kind, "kill memfd_create") == 0) install(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(kind, "trap openat") == 0) install(SYS_openat, SECCOMP_RET_TRAP);
    if (strcmp(kind, "error for mmap") == 0) install(SYS_mmap, SECCOMP_RET_ERRNO | 1);
    if (strcmp(kind, "kill mincore") == 0) install(SYS_mincore, SECCOMP_RET_KILL_THREAD);
    if (strcmp(kind, "error for clone3") == 0) install(SYS_clone3, SECCOMP_RET_ERRNO | 38);
    if (strcmp(kind, "kill reboot") == 0) install(SYS_reboot, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(kind, "strict") == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(kind, "strict") == 0)
        for (;;) {
        }
    for (;;) pause();
}
