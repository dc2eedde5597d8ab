#include "output/snapshot.h"

#include "base/config.h"
#include "base/names.h"
#include "base/problems.h"
#include "heap/record.h"
#include "heap/sites.h"
#include "output/events.h"
#include "output/frames.h"
#include "output/stream.h"

static const char *const trigger_names[HL_TRIGGERS] = {
    [HL_TIME] = "time",     [HL_ALLOCATED] = "allocated", [HL_HIGH_WATER] = "high-water",
    [HL_MANUAL] = "signal", [HL_EXEC] = "exec",           [HL_SIGNAL] = "exit",
    [HL_EXIT] = "exit",
};

uint64_t hl_snapshot_signal;

// --- the sums of all sites at one moment ---

struct copy {
    struct hl_sums *sums; // one for each site
    uint32_t n;
    struct hl_sums totals;
    size_t size;
};

// whole converts fixed point to whole objects.
static int64_t whole(int64_t objects) { return (objects + HL_WEIGHT_ONE / 2) >> HL_WEIGHT_BITS; }

// take_copy copies the sums. The lock is held only meanwhile.
static bool take_copy(struct copy *c) {
    uint32_t capacity = hl_sites_count() + 256; // new sites may appear before the lock is taken
    *c = (struct copy){.size = capacity * sizeof *c->sums};
    c->sums = hl_pages_alloc(c->size);
    if (!c->sums) return false;
    // Touch the memory now: a page fault takes longer than copying the page.
    for (size_t at = 0; at < c->size; at += 4096) *((volatile char *)c->sums + at) = 0;
    uint64_t signals = hl_heap_enter();
    c->n = hl_sites_count();
    if (c->n > capacity) c->n = capacity;
    for (uint32_t i = 0; i < c->n; i++) c->sums[i] = hl_site(i)->sums;
    hl_heap_leave(signals);
    return true;
}

static bool is_zero(const struct hl_sums *s) {
    return s->inuse_objects == 0 && s->inuse_bytes == 0 && s->alloc_objects == 0 &&
           s->alloc_bytes == 0;
}

// round_sums makes every sum a number of objects, and computes the totals of the rows.
static void round_sums(struct copy *c) {
    for (uint32_t i = 0; i < c->n; i++) {
        struct hl_sums *s = &c->sums[i];
        s->inuse_objects = whole(s->inuse_objects);
        s->alloc_objects = whole(s->alloc_objects);
        c->totals.inuse_objects += s->inuse_objects;
        c->totals.inuse_bytes += s->inuse_bytes;
        c->totals.alloc_objects += s->alloc_objects;
        c->totals.alloc_bytes += s->alloc_bytes;
    }
}

// --- the text ---

static char buffer[HL_MESSAGE];

static void put_sums(struct hl_text *t, const struct hl_sums *s) {
    hl_put_number(t, (uint64_t)s->inuse_objects, 1);
    hl_put(t, ": ", 2);
    hl_put_number(t, (uint64_t)s->inuse_bytes, 1);
    hl_put(t, " [", 2);
    hl_put_number(t, (uint64_t)s->alloc_objects, 1);
    hl_put(t, ": ", 2);
    hl_put_number(t, (uint64_t)s->alloc_bytes, 1);
    hl_put(t, "] @", 3);
}

// Most of the time of a snapshot is spent on addresses. Many of them are on many stacks, so their
// texts are kept.
struct address_text {
    uintptr_t address;
    uint32_t length;
    union {
        char text[24]; // " 0x" and at most 16 digits
        uint64_t words[3];
    };
};
enum { KEPT_BITS = 10 };
static struct address_text kept[1 << KEPT_BITS];

static const struct address_text *text_of(uintptr_t address) {
    uint64_t hash = address * UINT64_C(0x9E3779B97F4A7C15);
    struct address_text *k = &kept[hash >> (64 - KEPT_BITS)];
    if (k->address == address && k->length != 0) return k;
    struct hl_text t = hl_text(k->text, sizeof k->text);
    hl_put(&t, " 0x", 3);
    hl_put_hex(&t, address);
    k->address = address;
    k->length = (uint32_t)(t.at - k->text);
    return k;
}

// put_address appends an address. The caller has made room for ADDRESS bytes.
enum { ADDRESS = sizeof kept->text };
static void put_address(struct hl_text *t, uintptr_t address) {
    const struct address_text *k = text_of(address);
    for (size_t i = 0; i < HL_LENGTH(k->words); i++)
        __builtin_memcpy_inline(t->at + i * 8, &k->words[i], 8);
    t->at += k->length;
}

static void put_row(struct hl_stream *f, const struct hl_site *site, const struct hl_sums *s,
                    uint64_t image) {
    enum { SUMS = 128 };
    hl_stream_room(f, SUMS + HL_MAX_FRAMES * ADDRESS);
    put_sums(&f->text, s);
    for (uint32_t i = 0; i < site->n; i++) {
        uintptr_t address = site->frames[i];
        if (address >= HL_NAMED) address += image * HL_NAMED_IMAGE;
        put_address(&f->text, address);
    }
    hl_put(&f->text, "\n", 1);
}

// put_mappings copies the mappings. The kernel has none of /proc/self if the first thread of the
// process has ended.
static void put_mappings(struct hl_stream *f) {
    hl_stream_room(f, sizeof buffer);
    hl_put_string(&f->text, "\nMAPPED_LIBRARIES:\n");
    long fd = hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, "/proc/thread-self/maps", HL_O_CLOEXEC, 0);
    if (fd < 0) return;
    for (;;) {
        hl_stream_room(f, sizeof buffer / 2);
        long n = hl_syscall3(HL_SYS_read, fd, f->text.at, f->text.end - f->text.at);
        if (n <= 0) break;
        f->text.at += n;
    }
    hl_syscall1(HL_SYS_close, fd);
}

static int write_data(const struct copy *c, uint64_t image) {
    struct hl_stream f;
    hl_stream_open(&f, HL_DATA, buffer, sizeof buffer);
    hl_put_string(&f.text, "heap profile: ");
    put_sums(&f.text, &c->totals);
    hl_format(&f.text, " heapprofile/%u\n", hl_period);
    for (uint32_t i = 0; i < c->n && f.error == 0; i++)
        if (!is_zero(&c->sums[i])) put_row(&f, hl_site(i), &c->sums[i], image);
    put_mappings(&f);
    return hl_stream_close(&f);
}

// --- the whole ---

static void report(const char *detail, int error) {
    hl_problem_error("write-failed", detail, error);
}

// check_clock reports a change of the real time that the monotonic clock did not make.
static int64_t last_offset;
static void check_clock(int64_t real, int64_t monotonic) {
    enum { TOLERANCE = 1000000000 };
    int64_t offset = real - monotonic, change = offset - last_offset;
    if (last_offset != 0 && (change > TOLERANCE || change < -TOLERANCE))
        hl_problem("clock-jump", "the system's clock was changed during the recording");
    last_offset = offset;
}

// write_all sends a snapshot and its event. The event is first, for those who wait for the
// snapshot.
static int write_all(const struct copy *c, struct hl_snapshot_event *e) {
    uint64_t image = hl_channel_image();
    if (!hl_frames_write(hl_channel_pid(), image, hl_process.started_at))
        hl_problem("frames-failed", "the names of frames could not be written");
    e->sequence = hl_channel_next();
    e->sites = c->n;
    e->samples = hl_live_count();
    int error = write_data(c, image);
    e->duration = hl_clock(HL_MONOTONIC) - e->duration;
    e->cpu = hl_clock(HL_THREAD_CPU) - e->cpu;
    if (error == 0) error = hl_events_snapshot(e);
    if (error == 0) return hl_channel_put(HL_COMMIT, &e->sequence, sizeof e->sequence);
    hl_channel_put(HL_ABORT, NULL, 0);
    return error;
}

// write sends a snapshot. It returns 0, or an error number and what could not be done.
static int write(struct hl_snapshot_event *e, const char **what) {
    struct copy c;
    *what = "the recorder cannot be reached";
    int error = hl_channel_open();
    // The first message tells whether the recorder reads: if not, no time is spent on the tables.
    if (error == 0) error = hl_channel_put(HL_BEGIN, NULL, 0);
    if (error) return error;
    *what = "the tables could not be copied";
    if (!take_copy(&c)) return HL_ENOMEM;
    round_sums(&c);
    *what = "a snapshot could not be written";
    error = write_all(&c, e);
    hl_pages_free(c.sums, c.size);
    return error;
}

bool hl_snapshot_write(enum hl_trigger trigger) {
    struct hl_snapshot_event e = {.time = hl_clock(HL_REALTIME),
                                  .duration = hl_clock(HL_MONOTONIC),
                                  .cpu = hl_clock(HL_THREAD_CPU),
                                  .trigger = trigger_names[trigger]};
    const char *what;
    if (trigger == HL_SIGNAL) e.signal = hl_snapshot_signal;
    check_clock(e.time, e.duration);
    int error = write(&e, &what);
    if (error == HL_ETIMEDOUT) what = "the recorder did not take a snapshot in time";
    if (error) {
        report(what, error);
        hl_events_problems();
    }
    return error == 0;
}

void hl_snapshot_forked(void) {
    hl_channel_forked();
    hl_events_forked();
    hl_frames_forked();
}
