// Functions that need a process with one thread, or that change what a process may do. The writer
// is ended first: it would make the former fail, and it would keep the old rights.
#include "engine.h"
#include "heap/libc.h"
#include "heap/record.h"
#include "output/trigger.h"
#include "output/writer.h"

// A program calls several of these functions in a row.
enum { PAUSE = 100000000 };

#define PASS(type, name, parameters, arguments)                                                    \
    HL_EXPORT type name parameters {                                                               \
        static void *cache;                                                                        \
        type(*next) parameters = (type(*) parameters)hl_real_function(&cache, #name);              \
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

enum {
    PR_SET_SECCOMP = 22,
    PR_CAPBSET_DROP = 24,
    PR_SET_SECUREBITS = 28,
    PR_SET_NO_NEW_PRIVS = 38
};

// before_sandbox ends the recording: the program's next filter may forbid the system calls of the
// engine, and kill the process for them.
static void before_sandbox(void) {
    if (!hl_recording) return;
    hl_problem("disabled", "the program restricts its system calls (seccomp)");
    hl_trigger_last(HL_EXIT);
    hl_writer_stop(INT64_MAX / 2);
    __atomic_store_n(&hl_recording, false, __ATOMIC_RELAXED);
}

HL_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                    unsigned long d) {
    static void *cache;
    int (*next)(int, ...) = (int (*)(int, ...))hl_real_function(&cache, "prctl");
    if (option == PR_SET_SECCOMP)
        before_sandbox();
    else if (option == PR_CAPBSET_DROP || option == PR_SET_SECUREBITS ||
             option == PR_SET_NO_NEW_PRIVS)
        hl_writer_stop(PAUSE);
    return next(option, a, b, c, d);
}
