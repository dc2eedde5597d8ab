// The functions of the C library that the program would call if the engine did not define them.
#ifndef HL_BASE_NEXT_H
#define HL_BASE_NEXT_H

#include "base/platform.h"

// clang-format off
#define HL_NEXT_FUNCTIONS(X) \
    X(mmap) X(munmap) X(mremap) X(dlclose) X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) \
    X(execveat) X(sigaction) X(signal) X(bsd_signal) X(ssignal) X(sysv_signal) X(__sysv_signal) \
    X(sigset) X(unshare) X(setns) X(chroot) X(setuid) X(setgid) X(seteuid) X(setegid) \
    X(setreuid) X(setregid) X(setresuid) X(setresgid) X(setgroups) X(initgroups) X(capset) \
    X(mq_notify) X(prctl) X(syscall) X(pipe2) X(exit) X(__libc_start_main) \
    X(pthread_setcanceltype)
// clang-format on

#define HL_NEXT_NUMBER(name) HL_NEXT_##name,
enum hl_next { HL_NEXT_FUNCTIONS(HL_NEXT_NUMBER) HL_NEXT_COUNT };

// hl_next_find finds all of them. Later the loader's list may not be readable any more: the program
// may unload libraries meanwhile, or forbid system calls.
void hl_next_find(void);

// hl_next returns one, or NULL if the C library does not have it. If a constructor of a library
// calls it before the engine has begun, it finds them.
void *hl_next(enum hl_next which);

// hl_not_implemented sets errno to ENOSYS and returns -1.
int hl_not_implemented(void);

int *__errno_location(void);

#endif
