// Files: buffered output by system calls. A file is used by one thread at a time.
#ifndef HL_OUTPUT_FILE_H
#define HL_OUTPUT_FILE_H

#include "base/platform.h"
#include "base/text.h"

// HL_FILE_BLOCK is what is written at once, if the buffer is larger. A file system that caches
// files in large pieces takes half of the time for whole ones.
enum { HL_FILE_BLOCK = 64 << 10 };

struct hl_file {
    int fd;
    int error; // of the first call that failed, or 0
    bool append;
    struct hl_text text; // what has not been written yet
    char *buffer;
    size_t size;
};

// hl_file_open opens a file with the given flags in addition to O_WRONLY, O_CREAT and O_CLOEXEC.
// buffer is used until hl_file_close. With O_APPEND, each write of the buffer is whole or undone.
void hl_file_open(struct hl_file *f, const char *path, int flags, char *buffer, size_t size);

// hl_file_reserve allocates n bytes of the disk behind the end of a file, so that they can be
// written later even if the disk is full. It has no effect where the file system does not support
// it.
void hl_file_reserve(const struct hl_file *f, size_t n);

// hl_file_append appends n bytes to a file. If they do not fit, none of them is left in the file.
// It returns 0 or the error.
int hl_file_append(int fd, const char *text, size_t n);

// hl_file_room writes the buffer if less than n bytes are free in it. n must not exceed its size.
void hl_file_room(struct hl_file *f, size_t n);

// hl_file_close writes the rest and returns 0 or the error of the first call that failed.
int hl_file_close(struct hl_file *f);

// hl_file_read reads the start of a small file, such as those in /proc, and appends a zero byte. It
// returns the number of bytes, or -errno.
long hl_file_read(const char *path, char *to, size_t size);

#endif
