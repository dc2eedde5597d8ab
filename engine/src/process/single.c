// Functions that need a process with one thread, or that change what a process may do. The writer
// is ended first: it would make the former fail, and it would keep the old rights.
#include "process/single.h"

#include "base/next.h"
#include "base/problems.h"
#include "heap/hook.h"
#include "heap/record.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/signals.h"

// A program calls several of these functions in a row.
enum { PAUSE = 100000000 };

#define PASS(type, name, parameters, arguments)                                                    \
    HL_EXPORT type name parameters {                                                               \
        type(*next) parameters = (type(*) parameters)hl_next(HL_NEXT_##name);                      \
        if (!next) return (type)hl_not_implemented();                                              \
        hl_writer_stop(PAUSE);                                                                     \
        return next arguments;                                                                     \
    }

PASS(int, unshare, (int flags), (flags))
PASS(int, setns, (int fd, int type), (fd, type))
PASS(int, chroot, (const char *path), (path))
PASS(int, setuid, (unsigned id), (id))
PASS(int, setgid, (unsigned id), (id))
PASS(int, seteuid, (unsigned id), (id))
PASS(int, setegid, (unsigned id), (id))
PASS(int, setreuid, (unsigned real, unsigned effective), (real, effective))
PASS(int, setregid, (unsigned real, unsigned effective), (real, effective))
PASS(int, setresuid, (unsigned real, unsigned effective, unsigned saved), (real, effective, saved))
PASS(int, setresgid, (unsigned real, unsigned effective, unsigned saved), (real, effective, saved))
PASS(int, setgroups, (size_t n, const unsigned *groups), (n, groups))
PASS(int, initgroups, (const char *user, unsigned group), (user, group))
PASS(int, capset, (void *header, const void *data), (header, data))

HL_EXPORT int mq_notify(int queue, const void *event) {
    int (*next)(int, const void *) = (int (*)(int, const void *))hl_next(HL_NEXT_mq_notify);
    if (!next) return hl_not_implemented();
    hl_writer_share_files();
    return next(queue, event);
}

enum {
    PR_SET_SECCOMP = 22,
    PR_CAPBSET_DROP = 24,
    PR_SET_SECUREBITS = 28,
    PR_SET_NO_NEW_PRIVS = 38,
    PR_SET_SYSCALL_USER_DISPATCH = 59,
};

void (*hl_before_sandbox)(void);

// before_sandbox ends the recording: the program's next filter may forbid the system calls of the
// engine, and kill the process for them. A child for which no handler of fork ran is noticed first.
static void before_sandbox(void) {
    hl_signals_restore(hl_enter_slow_path());
    if (!hl_is_recording()) return;
    hl_problem("disabled", "the program restricts its system calls (seccomp)");
    hl_trigger_last(HL_EXIT);
    hl_writer_stop(INT64_MAX / 2);
    hl_live_as(HL_OFF);
    hl_signals_end();
    if (hl_before_sandbox) hl_before_sandbox();
}

// installs_filter reports whether a call restricts the system calls of the thread. Programs ask
// whether the kernel has filters by a call without one.
static bool installs_filter(unsigned long mode, unsigned long filter) {
    enum { SECCOMP_MODE_STRICT = 1, SECCOMP_MODE_FILTER = 2 };
    return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0);
}

static void before_prctl(int option, unsigned long a, unsigned long b) {
    bool dispatches = option == PR_SET_SYSCALL_USER_DISPATCH && a != 0;
    if (dispatches || (option == PR_SET_SECCOMP && installs_filter(a, b)))
        before_sandbox();
    else if (option == PR_CAPBSET_DROP || option == PR_SET_SECUREBITS ||
             option == PR_SET_NO_NEW_PRIVS)
        hl_writer_stop(PAUSE);
}

HL_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                    unsigned long d) {
    int (*next)(int, ...) = (int (*)(int, ...))hl_next(HL_NEXT_prctl);
    before_prctl(option, a, b);
    return next(option, a, b, c, d);
}

// syscall is how libseccomp and Chromium install filters. The call of the real function is a jump,
// so that a system call that returns twice, such as vfork, finds no frame of this function.
typedef long system_call(long, long, long, long, long, long, long);

HL_EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f) {
    system_call *next = (system_call *)hl_next(HL_NEXT_syscall);
    switch (number) {
    // The operations of this call are numbered from 0, the modes of prctl from 1.
    case HL_SYS_seccomp:
        if (installs_filter((unsigned long)a + 1, (unsigned long)c)) before_sandbox();
        break;
    case HL_SYS_prctl: before_prctl((int)a, (unsigned long)b, (unsigned long)c); break;
    case HL_SYS_unshare:
    case HL_SYS_setns: hl_writer_stop(PAUSE); break;
    }
    __attribute__((musttail)) return next(number, a, b, c, d, e, f);
}

// For attach. It does not replace unshare and setns: they need a process without its helper. The C
// library gives new rights to the helper, but not to the writer.
HL_HOOK(chroot);
HL_HOOK(setuid);
HL_HOOK(setgid);
HL_HOOK(seteuid);
HL_HOOK(setegid);
HL_HOOK(setreuid);
HL_HOOK(setregid);
HL_HOOK(setresuid);
HL_HOOK(setresgid);
HL_HOOK(setgroups);
HL_HOOK(initgroups);
HL_HOOK(capset);
HL_HOOK(mq_notify);
HL_HOOK(prctl);
HL_HOOK(syscall);
