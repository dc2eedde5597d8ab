#include "output/file.h"

static long open_file(const char *path, int flags) {
    return hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, path, flags | HL_O_CLOEXEC, 0644);
}

void hl_file_open(struct hl_file *f, const char *path, int flags, char *buffer, size_t size) {
    long fd = open_file(path, flags | HL_O_WRONLY | HL_O_CREAT);
    *f = (struct hl_file){.fd = (int)fd, .buffer = buffer, .size = size};
    f->text = hl_text(buffer, size);
    if (fd < 0) f->error = (int)-fd;
}

static void flush(struct hl_file *f) {
    const char *from = f->buffer;
    while (f->error == 0 && from < f->text.at) {
        long n = hl_syscall3(HL_SYS_write, f->fd, from, f->text.at - from);
        if (n > 0)
            from += n;
        else if (n != -HL_EINTR)
            f->error = (int)-n;
    }
    f->text = hl_text(f->buffer, f->size);
}

void hl_file_room(struct hl_file *f, size_t n) {
    if ((size_t)(f->text.end - f->text.at) < n) flush(f);
}

int hl_file_close(struct hl_file *f) {
    flush(f);
    if (f->fd < 0) return f->error;
    long result = hl_syscall1(HL_SYS_close, f->fd);
    if (f->error == 0 && result < 0 && result != -HL_EINTR) f->error = (int)-result;
    return f->error;
}

long hl_file_read(const char *path, char *to, size_t size) {
    long fd = open_file(path, 0);
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
