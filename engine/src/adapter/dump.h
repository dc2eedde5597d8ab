// The snapshots of an allocator, which believes that it writes files. They go through the channel.
#ifndef HL_ADAPTER_DUMP_H
#define HL_ADAPTER_DUMP_H

#include "base/platform.h"

// HL_DUMP_PREFIX begins the names of the allocator's snapshots. No file can have such a name: if
// the adapter does not see a call, nothing is written.
#define HL_DUMP_PREFIX "/dev/null/heaplapse"

// These are what the allocator calls instead of the C library's functions.
int hl_dump_open(const char *path, int flags, unsigned mode);
int hl_dump_creat(const char *path, unsigned mode);
int hl_dump_close(int fd);

// hl_dump_write takes what is written to a snapshot. It returns false if fd is not one.
bool hl_dump_write(int fd, const void *data, size_t n);

// hl_dump_is_wanted reports whether this process is recorded. A child that shares the memory of its
// parent (vfork) is not.
bool hl_dump_is_wanted(void);

// hl_dump_count returns the number of snapshots that were sent.
uint32_t hl_dump_count(void);

// hl_dump_init is called once.
void hl_dump_init(void);

#endif
