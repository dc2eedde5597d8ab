#include "output/events.h"

#include "base/files.h"
#include "base/objects.h"
#include "engine.h"
#include "output/stream.h"
#include "process/config.h"
#include "process/fork.h"

static char buffer[16 << 10]; // longer than a line
static bool started;          // the first line has been written

// --- problems ---

struct problem {
    const char *kind;
    char detail[200];
    int error; // an errno, or 0
    uint64_t count;
    uint64_t put; // the count of the line that is being written
    uint64_t written;
};
enum { PROBLEMS = 24 };
static struct problem problems[PROBLEMS];
static struct hl_lock problems_lock;

static struct problem *problem_of(const char *kind) {
    for (size_t i = 0; i < PROBLEMS; i++) {
        if (!problems[i].kind) problems[i].kind = kind;
        if (hl_equal(problems[i].kind, kind)) return &problems[i];
    }
    return &problems[PROBLEMS - 1];
}

void hl_problem(const char *kind, const char *detail) { hl_problem_error(kind, detail, 0); }

void hl_problem_error(const char *kind, const char *detail, int error) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&problems_lock);
    struct problem *p = problem_of(kind);
    p->error = error;
    if (p->count++ == 0 && detail) {
        struct hl_text t = hl_text(p->detail, sizeof p->detail);
        hl_put_string(&t, detail);
        hl_put_end(&t);
    }
    hl_unlock(&problems_lock);
    hl_signals_restore(signals);
}

static void put_problems(struct hl_stream *f) {
    hl_lock(&problems_lock);
    for (size_t i = 0; i < PROBLEMS && problems[i].kind; i++) {
        struct problem *p = &problems[i];
        if (p->count == p->written) continue;
        hl_stream_room(f, 2048);
        hl_format(&f->text, "{\"problem\":{\"kind\":\"%j\",\"count\":%u", p->kind, p->count);
        if (p->detail[0]) hl_format(&f->text, ",\"detail\":\"%j\"", p->detail);
        if (p->error) hl_format(&f->text, ",\"errno\":%u", (uint64_t)p->error);
        hl_put_string(&f->text, "}}\n");
        p->put = p->count;
    }
    hl_unlock(&problems_lock);
}

// problems_written remembers that the lines of put_problems are in the file.
static void problems_written(void) {
    hl_lock(&problems_lock);
    for (size_t i = 0; i < PROBLEMS; i++) problems[i].written = problems[i].put;
    hl_unlock(&problems_lock);
}

static bool has_problems(void) {
    for (size_t i = 0; i < PROBLEMS && problems[i].kind; i++)
        if (problems[i].count != problems[i].written) return true;
    return false;
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
    problems_written();
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
    put_problems(&f);
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
    if (!has_problems()) return 0;
    int error = open_events(&f);
    if (error) return error;
    put_problems(&f);
    return close_events(&f);
}

void hl_problems_forked(void) {
    problems_lock.state = 0;
    memset(problems, 0, sizeof problems);
}

void hl_events_forked(void) { started = false; }
