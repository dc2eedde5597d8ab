#include "output/events.h"

#include "base/config.h"
#include "base/files.h"
#include "base/problems.h"
#include "output/stream.h"

static char buffer[16 << 10]; // longer than a line
static bool started;          // the first line has been written

static void put_problem(const struct hl_problem *p, void *context) {
    struct hl_stream *f = context;
    hl_stream_room(f, 2048);
    hl_format(&f->text, "{\"problem\":{\"kind\":\"%j\",\"count\":%u", p->kind, p->count);
    if (p->detail[0]) hl_format(&f->text, ",\"detail\":\"%j\"", p->detail);
    if (p->error) hl_format(&f->text, ",\"errno\":%u", (uint64_t)p->error);
    hl_put_string(&f->text, "}}\n");
}

// --- the first line ---

static void put_argv(struct hl_text *t) {
    static char text[1500];
    long n = hl_file_read("/proc/thread-self/cmdline", text, sizeof text);
    hl_put_string(t, ",\"argv\":[");
    for (long at = 0; at < n; at += (long)hl_strlen(text + at) + 1)
        hl_format(t, "%s\"%j\"", at ? "," : "", text + at);
    hl_put_string(t, "]");
}

static void put_exe(struct hl_text *t) {
    static char path[500];
    long n =
        hl_syscall4(HL_SYS_readlinkat, HL_AT_FDCWD, "/proc/thread-self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    hl_format(t, ",\"exe\":\"%j\"", path);
}

static void put_start(struct hl_stream *f) {
    hl_format(&f->text,
              "{\"schema\":\"heaplapse.events/1\",\"pid\":%u,\"image\":%u,\"start_ns\":%d}\n",
              hl_channel_pid(), hl_channel_image(), hl_process.started_at);
    hl_format(&f->text, "{\"start\":{\"parent\":%u", hl_process.parent);
    if (hl_process.is_fork) hl_put_string(&f->text, ",\"forked\":true");
    hl_format(&f->text, ",\"period\":%u,\"version\":\"1\",\"libc\":\"%j\"", hl_config.period,
              hl_process.libc);
    put_exe(&f->text);
    put_argv(&f->text);
    hl_put_string(&f->text, "}}\n");
}

static int open_events(struct hl_stream *f) {
    int error = hl_channel_open();
    if (error) return error;
    hl_stream_open(f, HL_EVENTS, buffer, sizeof buffer);
    if (!started) put_start(f);
    return 0;
}

static int close_events(struct hl_stream *f) {
    int error = hl_stream_close(f);
    if (error) return error;
    started = true;
    hl_problems_done();
    return 0;
}

// --- what the process uses ---

// resident returns the resident memory in bytes: the second field of statm, in pages.
static uint64_t resident(void) {
    char text[128];
    uint64_t total, pages;
    const char *s = text;
    if (hl_file_read("/proc/thread-self/statm", text, sizeof text) <= 0) return 0;
    if (!hl_parse_number(&s, &total) || *s++ != ' ' || !hl_parse_number(&s, &pages)) return 0;
    return pages * hl_process.page_size;
}

static void put_milliseconds(struct hl_text *t, const char *key, int64_t ns) {
    uint64_t tenths = (uint64_t)ns / 100000;
    hl_format(t, ",\"%s\":%u.%u", key, tenths / 10, tenths % 10);
}

int hl_events_snapshot(const struct hl_snapshot_event *e) {
    struct hl_stream f;
    int error = open_events(&f);
    if (error) return error;
    hl_problems_visit(put_problem, &f);
    hl_stream_room(&f, 8192);
    struct hl_text *t = &f.text;
    hl_format(t, "{\"snapshot\":{\"seq\":%u,\"time_ns\":%d,\"trigger\":\"%s\"", e->sequence,
              e->time, e->trigger);
    if (e->signal) hl_format(t, ",\"signal\":%u", e->signal);
    uint64_t rss = resident();
    if (rss) hl_format(t, ",\"rss\":%u", rss);
    hl_format(t, ",\"cpu_ns\":%d", hl_clock(HL_PROCESS_CPU));
    put_milliseconds(t, "ms", e->duration);
    put_milliseconds(t, "cpu_ms", e->cpu);
    hl_format(t, ",\"sites\":%u,\"samples\":%u}}\n", e->sites, e->samples);
    return close_events(&f);
}

int hl_events_problems(void) {
    struct hl_stream f;
    if (!hl_problems_any()) return 0;
    int error = open_events(&f);
    if (error) return error;
    hl_problems_visit(put_problem, &f);
    return close_events(&f);
}

void hl_events_forked(void) { started = false; }
