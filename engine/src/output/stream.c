#include "output/stream.h"

void hl_stream_open(struct hl_stream *s, enum hl_message kind, char *buffer, size_t size) {
    *s = (struct hl_stream){.kind = kind, .buffer = buffer, .size = size};
    s->text = hl_text(buffer, size);
}

static void flush(struct hl_stream *s) {
    for (const char *at = s->buffer; at < s->text.at && s->error == 0;) {
        size_t n = (size_t)(s->text.at - at);
        if (n > HL_MESSAGE) n = HL_MESSAGE;
        s->error = hl_channel_put(s->kind, at, n);
        at += n;
    }
    s->text = hl_text(s->buffer, s->size);
}

void hl_stream_room(struct hl_stream *s, size_t n) {
    if ((size_t)(s->text.end - s->text.at) < n) flush(s);
}

int hl_stream_close(struct hl_stream *s) {
    flush(s);
    return s->error;
}
