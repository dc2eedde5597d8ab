#include "output/frames.h"

#include "base/names.h"
#include "base/text.h"
#include "output/channel.h"

enum { MAX_LINE = 6 * 2 * 4096 + 200 }; // a byte takes six at most

static uint32_t batch_of[HL_NAMES]; // in which a frame was sent; 0: it was not
static uint32_t batch;              // number of the last batch
static bool has_first_line;         // the file has been started by this process

static void put_frame(struct hl_text *t, const struct hl_frame_name *f, uint64_t image) {
    hl_format(t, "{\"address\":\"0x%x\",\"function\":\"", f->address + image * HL_NAMED_IMAGE);
    hl_put_json(t, f->function, f->function_length);
    hl_put_string(t, "\",\"file\":\"");
    hl_put_json(t, f->file, f->file_length);
    hl_format(t, "\",\"line\":%u", (uint64_t)f->line);
    if (f->language != NULL) hl_format(t, ",\"language\":\"%s\"", f->language);
    hl_put_string(t, "}\n");
}

// put_frames puts frames that were not sent yet, from number *i on, as long as there is room.
static void put_frames(struct hl_text *t, uint32_t *i, uint32_t count, uint64_t image) {
    struct hl_frame_name f;
    for (; *i < count && t->end - t->at > MAX_LINE; ++*i) {
        if (batch_of[*i] != 0 || !hl_names_get(*i, &f)) continue;
        put_frame(t, &f, image);
        batch_of[*i] = batch;
    }
}

// forget_batch makes the frames of the current batch be sent again.
static void forget_batch(uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (batch_of[i] == batch) batch_of[i] = 0;
}

static void put_first_line(struct hl_text *t, uint64_t pid, uint64_t image, int64_t start_ns) {
    hl_format(t, "{\"schema\":\"heaplapse.frames/1\",\"pid\":%u,\"image\":%u,\"start_ns\":%d}\n",
              pid, image, start_ns);
}

bool hl_frames_write(uint64_t pid, uint64_t image, int64_t start_ns) {
    static char buffer[HL_MESSAGE];
    uint32_t count = hl_names_count(), i = 0;
    while (i < count) {
        struct hl_text t = hl_text(buffer, sizeof buffer);
        if (!has_first_line) put_first_line(&t, pid, image, start_ns);
        batch++;
        put_frames(&t, &i, count, image);
        if (t.at != buffer && hl_channel_put(HL_FRAMES, buffer, (size_t)(t.at - buffer)) != 0) {
            forget_batch(count);
            return false;
        }
        has_first_line = true;
    }
    return true;
}

void hl_frames_forked(void) {
    has_first_line = false;
    memset(batch_of, 0, hl_names_count() * sizeof *batch_of);
}
