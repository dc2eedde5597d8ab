// The pipe of libunwind.
//
// libunwind checks whether it can read an address with a pipe: it writes a byte from this address,
// and reads it back. The pipe stays open. A program that closes the descriptors that it inherited,
// and then opens files, gets the same numbers, and libunwind would write into its files, read from
// them or close them. The adapter therefore gives libunwind a pipe that is no file, and checks the
// address with a system call that needs none.
//
// Sources: libunwind src/x86_64/Ginit.c (write_validate), since 1.8 src/mi/Gaddress_validator.c.
#ifndef HL_ADAPTER_PIPE_H
#define HL_ADAPTER_PIPE_H

#include "base/platform.h"

// HL_NO_FILE is the descriptor of both ends. It is negative, so that no call can mistake it for a
// file.
enum { HL_NO_FILE = -64 };

// These are what libunwind calls instead of pipe2 and read.
int hl_pipe_open(int *ends, int flags);
long hl_pipe_read(int fd, void *to, size_t n);

// hl_pipe_write does what writing a byte into the pipe does: it returns 1 if the byte can be read,
// and otherwise -1 with EFAULT.
long hl_pipe_write(const void *at);

#endif
