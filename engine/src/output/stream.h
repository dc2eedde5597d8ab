// Buffered output to the channel. A stream is used by one thread at a time.
#ifndef HL_OUTPUT_STREAM_H
#define HL_OUTPUT_STREAM_H

#include "base/text.h"
#include "output/channel.h"

struct hl_stream {
    enum hl_message kind;
    int error;           // of the first message that could not be sent, or 0
    struct hl_text text; // what has not been sent yet
    char *buffer;
    size_t size;
};

// hl_stream_open starts messages of a kind. buffer is used until hl_stream_close. What is put
// between two calls of hl_stream_room is sent in one message, if it has at most HL_MESSAGE bytes.
void hl_stream_open(struct hl_stream *s, enum hl_message kind, char *buffer, size_t size);

// hl_stream_room sends the buffer if less than n bytes are free in it. n must not exceed its size.
void hl_stream_room(struct hl_stream *s, size_t n);

// hl_stream_close sends the rest and returns 0 or the error of the first message that failed.
int hl_stream_close(struct hl_stream *s);

#endif
