#include "output/file.h"

static long open_file(const char *path, int flags) {
    return hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, path,
                       flags | HL_O_NOFOLLOW | HL_O_NONBLOCK | HL_O_CLOEXEC, 0644);
}

void hl_file_open(struct hl_file *f, const char *path, int flags, char *buffer, size_t size) {
    long fd = open_file(path, flags | HL_O_WRONLY | HL_O_CREAT);
    *f = (struct hl_file){
        .fd = (int)fd, .append = (flags & HL_O_APPEND) != 0, .buffer = buffer, .size = size};
    f->text = hl_text(buffer, size);
    if (fd < 0) f->error = (int)-fd;
}

static int write_all(int fd, const char *from, const char *end) {
    while (from < end) {
        long n = hl_syscall3(HL_SYS_write, fd, from, end - from);
        if (n > 0)
            from += n;
        else if (n != -HL_EINTR)
            return (int)-n;
    }
    return 0;
}

static long size_of(int fd) {
    enum { SEEK_END = 2 };
    return hl_syscall3(HL_SYS_lseek, fd, 0, SEEK_END);
}

void hl_file_reserve(const struct hl_file *f, size_t n) {
    enum { KEEP_SIZE = 1 };
    long size = size_of(f->fd);
    if (size >= 0) hl_syscall4(HL_SYS_fallocate, f->fd, KEEP_SIZE, 0, size + (long)n);
}

int hl_file_append(int fd, const char *text, size_t n) {
    long size = size_of(fd);
    int error = write_all(fd, text, text + n);
    if (error != 0 && size >= 0) hl_syscall2(HL_SYS_ftruncate, fd, size);
    return error;
}

// flush writes the first n bytes of the buffer, and moves the rest to its start.
static void flush(struct hl_file *f, size_t n) {
    const char *rest = f->buffer + n;
    size_t left = (size_t)(f->text.at - rest);
    if (f->error == 0)
        f->error =
            f->append ? hl_file_append(f->fd, f->buffer, n) : write_all(f->fd, f->buffer, rest);
    f->text = hl_text(f->buffer, f->size);
    memmove(f->buffer, rest, left);
    f->text.at += left;
}

static size_t used(const struct hl_file *f) { return (size_t)(f->text.at - f->buffer); }

static bool has_room(const struct hl_file *f, size_t n) {
    return (size_t)(f->text.end - f->text.at) >= n;
}

void hl_file_room(struct hl_file *f, size_t n) {
    if (has_room(f, n)) return;
    size_t blocks = used(f) / HL_FILE_BLOCK * HL_FILE_BLOCK;
    if (blocks != 0 && !f->append) flush(f, blocks);
    if (!has_room(f, n)) flush(f, used(f));
}

int hl_file_close(struct hl_file *f) {
    flush(f, used(f));
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
