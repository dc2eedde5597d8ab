#include "process/target.h"

#include "base/config.h"
#include "base/objects.h"
#include "base/text.h"

// The list of wrappers is the same as in internal/record/program/target.go.
static const char *const wrappers[] = {
    "sh",      "bash",      "dash",      "zsh",       "ksh",    "ash",      "fish",
    "busybox", "env",       "timeout",   "nice",      "ionice", "nohup",    "stdbuf",
    "setsid",  "taskset",   "chrt",      "numactl",   "time",   "setpriv",  "prlimit",
    "tini",    "dumb-init", "catatonit", "su-exec",   "gosu",   "chroot",   "unshare",
    "setarch", "xvfb-run",  "pyenv",     "catchsegv", "bwrap",  "firejail", "nsjail",
};

static bool is_wrapper(void) {
    char exe[1024];
    long n = hl_syscall4(HL_SYS_readlinkat, HL_AT_FDCWD, "/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    const char *base = hl_base_name(exe);
    for (size_t i = 0; i < HL_LENGTH(wrappers); i++)
        if (hl_equal(base, wrappers[i])) return true;
    return false;
}

enum { DIGITS = 7 };

bool hl_target_claim(void) {
    if (hl_config.children) return true;
    uint64_t owner;
    const char *s = hl_config.main;
    if (!s || !hl_parse_number(&s, &owner) || s - hl_config.main != DIGITS) return false;
    if (owner != 0) return owner == hl_process.pid;
    if (is_wrapper()) return false;
    struct hl_text t = hl_text(hl_config.main, DIGITS);
    uint64_t limit = 1;
    for (int i = 0; i < DIGITS; i++) limit *= 10;
    for (uint64_t unit = limit / 10; unit > 0; unit /= 10)
        hl_put_number(&t, hl_process.pid / unit % 10, 1);
    return true;
}

static void read_libc(char *to, size_t size) {
    struct hl_symbol version = {.name = "gnu_get_libc_version"};
    struct hl_text t = hl_text(to, size);
    hl_find(&version, 1);
    if (version.address)
        hl_format(&t, "glibc %s", ((const char *(*)(void))version.address)());
    else
        hl_put_string(&t, "musl");
    hl_put_end(&t);
}

void hl_target_read(void) {
    hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    hl_process.parent = (uint64_t)hl_syscall0(HL_SYS_getppid);
    hl_process.started = hl_clock(HL_MONOTONIC);
    hl_process.started_at = hl_clock(HL_REALTIME);
    hl_process.is_fork = false;
    read_libc(hl_process.libc, sizeof hl_process.libc);
}
