// Small files of the kernel, such as those in /proc.
#ifndef HL_BASE_FILES_H
#define HL_BASE_FILES_H

#include "base/platform.h"

// hl_file_read reads the start of a file and appends a zero byte. It returns the number of bytes,
// or -errno.
long hl_file_read(const char *path, char *to, size_t size);

#endif
