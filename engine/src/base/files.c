#include "base/files.h"

long hl_file_read(const char *path, char *to, size_t size) {
    const int flags = HL_O_NOFOLLOW | HL_O_NONBLOCK | HL_O_CLOEXEC;
    long fd = hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, path, flags, 0);
    if (fd < 0) return fd;
    size_t n = 0;
    while (n < size - 1) {
        long got = hl_syscall3(HL_SYS_read, fd, to + n, size - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    to[n] = 0;
    hl_syscall1(HL_SYS_close, fd);
    return (long)n;
}
