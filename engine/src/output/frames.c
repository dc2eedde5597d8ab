// Names of synthetic frames: Python functions, and frames that stand for something else than code.
//
// A name gets an address that no process maps. The addresses are in the rows of snapshots; a file
// beside the snapshots tells what they mean, one JSON object a line. Names are never forgotten.
//
// hl_name takes no lock, so that it may be called in signal handlers and around forks: memory is
// taken by atomic additions, and an entry is published by one compare-and-swap.
#include "base/text.h"
#include "output/channel.h"
#include "stack.h"

enum {
    ADDRESS_STEP = 16,
    MAX_FRAMES = 1 << 16,
    MAX_STRINGS = 1 << 16,
    TEXT_SIZE = 8 << 20,
    SLOTS = 1 << 17, // of each table; at most half of them are used
};

struct string {
    uint32_t hash, length;
    char text[];
};

struct frame {
    const struct string *function, *file;
    uint32_t line;
    uint32_t state; // of enum state
    uint32_t batch; // in which it was written to the file; 0: it was not
    uint32_t hash;
};

enum state { INCOMPLETE, READY, VOID }; // VOID: another thread named the same frame first

// struct names is one region of memory, which is mapped when the first frame is named. Pages that
// are not used take no memory.
struct names {
    uint32_t frames;         // entries of frame that are taken
    uint32_t text;           // bytes of text that are taken
    uint32_t strings;        // strings that are taken
    uint32_t by_name[SLOTS]; // number of a frame plus one
    uint32_t by_text[SLOTS]; // offset of a string in text_of plus one
    struct frame frame[MAX_FRAMES];
    _Alignas(8) char text_of[TEXT_SIZE];
};

static struct names *names;

static struct names *all_names(void) {
    struct names *n = __atomic_load_n(&names, __ATOMIC_ACQUIRE), *none = NULL;
    if (n != NULL) return n;
    n = hl_pages_alloc(sizeof *n);
    if (n == NULL) return NULL;
    if (__atomic_compare_exchange_n(&names, &none, n, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return n;
    hl_pages_free(n, sizeof *n);
    return none;
}

// take reserves k units of a supply, and returns the number of the first one, or limit.
static uint32_t take(uint32_t *used, uint32_t k, uint32_t limit) {
    uint32_t at = __atomic_load_n(used, __ATOMIC_RELAXED);
    do {
        if (k > limit - at) return limit;
    } while (
        !__atomic_compare_exchange_n(used, &at, at + k, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return at;
}

static uint32_t hash_bytes(const char *s, size_t n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

// --- strings ---

static const struct string *string_at(struct names *n, uint32_t slot) {
    return (const struct string *)(n->text_of + slot - 1);
}

static bool same_text(const struct string *s, uint32_t hash, const char *text, size_t length) {
    return s->hash == hash && s->length == length && memcmp(s->text, text, length) == 0;
}

// new_string returns the slot value of a new string, or 0.
static uint32_t new_string(struct names *n, uint32_t hash, const char *text, size_t length) {
    uint32_t size = (uint32_t)((sizeof(struct string) + length + 7) & ~(size_t)7);
    if (take(&n->strings, 1, MAX_STRINGS) == MAX_STRINGS) return 0;
    uint32_t at = take(&n->text, size, TEXT_SIZE);
    if (at == TEXT_SIZE) return 0;
    struct string *s = (struct string *)(n->text_of + at);
    s->hash = hash;
    s->length = (uint32_t)length;
    memcpy(s->text, text, length);
    return at + 1;
}

static const struct string *intern(struct names *n, const char *text, size_t length) {
    enum { MAX_LENGTH = 4096 };
    if (length > MAX_LENGTH) length = MAX_LENGTH;
    uint32_t hash = hash_bytes(text, length), new = 0;
    for (uint32_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
        uint32_t slot = __atomic_load_n(&n->by_text[i], __ATOMIC_ACQUIRE);
        if (slot == 0) {
            if (new == 0 && (new = new_string(n, hash, text, length)) == 0) return NULL;
            if (__atomic_compare_exchange_n(&n->by_text[i], &slot, new, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return string_at(n, new);
        }
        if (same_text(string_at(n, slot), hash, text, length)) return string_at(n, slot);
    }
}

// --- frames ---

static uintptr_t address_of(uint32_t frame) {
    return HL_NAMED + (uint64_t)(frame + 1) * ADDRESS_STEP;
}

static bool same_frame(const struct frame *a, const struct frame *b) {
    return a->function == b->function && a->file == b->file && a->line == b->line;
}

// new_frame returns the slot value of a new frame, or 0.
static uint32_t new_frame(struct names *n, const struct frame *f) {
    uint32_t i = take(&n->frames, 1, MAX_FRAMES);
    if (i == MAX_FRAMES) return 0;
    n->frame[i] = *f;
    __atomic_store_n(&n->frame[i].state, READY, __ATOMIC_RELEASE);
    return i + 1;
}

uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line) {
    struct names *n = all_names();
    if (n == NULL) return 0;
    struct frame f = {.line = line};
    f.function = intern(n, function, function_length);
    f.file = intern(n, file, file_length);
    if (f.function == NULL || f.file == NULL) return 0;
    f.hash = f.function->hash * 31 + f.file->hash * 17 + line * UINT32_C(2654435761);
    uint32_t new = 0;
    for (uint32_t i = f.hash % SLOTS;; i = (i + 1) % SLOTS) {
        uint32_t slot = __atomic_load_n(&n->by_name[i], __ATOMIC_ACQUIRE);
        if (slot == 0) {
            if (new == 0 && (new = new_frame(n, &f)) == 0) return 0;
            if (__atomic_compare_exchange_n(&n->by_name[i], &slot, new, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return address_of(new - 1);
        }
        if (!same_frame(&n->frame[slot - 1], &f)) continue;
        if (new != 0) __atomic_store_n(&n->frame[new - 1].state, VOID, __ATOMIC_RELAXED);
        return address_of(slot - 1);
    }
}

// --- the file ---

enum { BUFFER_SIZE = HL_MESSAGE, MAX_LINE = 6 * 2 * 4096 + 200 }; // a byte takes six at most

static uint32_t batch;      // number of the next batch
static bool has_first_line; // the file has been started by this process

static void put_frame(struct hl_text *t, uint32_t i, const struct frame *f, uint64_t image) {
    hl_format(t, "{\"address\":\"0x%x\",\"function\":\"", address_of(i) + image * HL_NAMED_IMAGE);
    hl_put_json(t, f->function->text, f->function->length);
    hl_put_string(t, "\",\"file\":\"");
    hl_put_json(t, f->file->text, f->file->length);
    hl_format(t, "\",\"line\":%u}\n", (uint64_t)f->line);
}

// put_frames puts frames that are not in the file yet, from number *i on, as long as there is room.
static void put_frames(struct hl_text *t, struct names *n, uint32_t *i, uint32_t count,
                       uint64_t image) {
    for (; *i < count && t->end - t->at > MAX_LINE; ++*i) {
        struct frame *f = &n->frame[*i];
        if (f->batch != 0 || __atomic_load_n(&f->state, __ATOMIC_ACQUIRE) != READY) continue;
        put_frame(t, *i, f, image);
        f->batch = batch;
    }
}

// forget_batch makes the frames of the current batch be written again.
static void forget_batch(struct names *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (n->frame[i].batch == batch) n->frame[i].batch = 0;
}

static bool write_frames(struct names *n, uint64_t image, const char *first_line, char *buffer) {
    uint32_t count = __atomic_load_n(&n->frames, __ATOMIC_ACQUIRE), i = 0;
    while (i < count || !has_first_line) {
        struct hl_text t = hl_text(buffer, BUFFER_SIZE);
        if (!has_first_line) hl_put_string(&t, first_line);
        batch++;
        put_frames(&t, n, &i, count, image);
        if (t.at != buffer && hl_channel_put(HL_FRAMES, buffer, (size_t)(t.at - buffer)) != 0) {
            forget_batch(n, count);
            return false;
        }
        has_first_line = true;
    }
    return true;
}

bool hl_names_write(uint64_t pid, uint64_t image, int64_t start_ns) {
    struct names *n = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
    if (n == NULL) return true;
    char first_line[200];
    struct hl_text t = hl_text(first_line, sizeof first_line);
    hl_format(&t, "{\"schema\":\"heaplapse.frames/1\",\"pid\":%u,\"image\":%u,\"start_ns\":%d}\n",
              pid, image, start_ns);
    hl_put_end(&t);
    char *buffer = hl_pages_alloc(BUFFER_SIZE);
    if (buffer == NULL) return false;
    bool ok = write_frames(n, image, first_line, buffer);
    hl_pages_free(buffer, BUFFER_SIZE);
    return ok;
}

void hl_names_forked(void) {
    has_first_line = false;
    struct names *n = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; n != NULL && i < n->frames; i++) n->frame[i].batch = 0;
}
