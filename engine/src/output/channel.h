// The channel: memory that this process image shares with the recorder, which writes all files. The
// engine opens no file for writing, so that neither a disk that stops nor a link that somebody has
// planted can do anything to the program.
//
// A program that record has started connects to a socket of the recorder and gets the memory from
// it. A process that attach records creates the memory, and the recorder opens it. Either way the
// recorder has allocated its pages and sealed its size.
//
// One thread at a time uses the channel.
#ifndef HL_OUTPUT_CHANNEL_H
#define HL_OUTPUT_CHANNEL_H

#include "base/platform.h"

// enum hl_message is what a message is about. The numbers and the layout of the memory are the same
// in internal/record/channel/memory.go.
enum hl_message {
    HL_BEGIN = 1,  // a snapshot; what there is of one before that was not committed is dropped
    HL_DATA = 2,   // the next bytes of the snapshot
    HL_COMMIT = 3, // the snapshot is complete; 8 bytes: its number
    HL_ABORT = 4,  // the snapshot is dropped
    HL_EVENTS = 5, // complete lines of the events file
    HL_FRAMES = 6, // complete lines of the frames file
};

enum { HL_MESSAGE = 64 << 10 }; // the most bytes of a message

// hl_channel_open connects this process image if it is not connected. It waits for the recorder,
// but no longer than 2 s. It returns 0 or an error number.
int hl_channel_open(void);

// hl_channel_put sends a message. It waits for the recorder if there is no room, but no longer than
// 2 s, and not again before the recorder has read something. It returns 0 or an error number.
int hl_channel_put(enum hl_message kind, const void *data, size_t n);

// hl_channel_until makes both wait until a monotonic time at most, and not for a recorder that has
// not answered before; 0: no such limit.
void hl_channel_until(int64_t time);

// hl_channel_leave tells the recorder that the program is about to run its exit handlers, and waits
// until it has looked at the memory, if it wants to, but no longer than 2 s. It returns false if
// that was in vain. Any thread may call it.
bool hl_channel_leave(void);

// What the recorder calls this process, which may be in another PID namespace, and this process
// image: 0, or more if the process has run other programs before. The channel must be open.
uint64_t hl_channel_pid(void);
uint64_t hl_channel_image(void);

// hl_channel_next returns the number of the next snapshot.
uint64_t hl_channel_next(void);

// hl_channel_is_closed reports whether the recorder had ended when a message was sent.
bool hl_channel_is_closed(void);

// hl_channel_forked is called in a forked child, which needs a channel of its own.
void hl_channel_forked(void);

// hl_channel_create returns a file descriptor of memory that is still empty, or -errno.
long hl_channel_create(void);

// hl_channel_adopt uses memory that the recorder has prepared, instead of the one before. It closes
// the descriptor, and returns 0 or an error number.
int hl_channel_adopt(int fd);

#endif
