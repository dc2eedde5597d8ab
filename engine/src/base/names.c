// Names of synthetic frames: functions of scripts, and frames that stand for something else than
// code.
//
// Names are never forgotten.
//
// hl_name takes no lock, so that it may be called in signal handlers and around forks: memory is
// taken by atomic additions, and an entry is published by one compare-and-swap.

#include "base/names.h"

enum {
    ADDRESS_STEP = 16,
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
    const char *language;
    uint32_t line;
    uint32_t state; // of enum state
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
    struct frame frame[HL_NAMES];
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
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->language == b->language;
}

// new_frame returns the slot value of a new frame, or 0.
static uint32_t new_frame(struct names *n, const struct frame *f) {
    uint32_t i = take(&n->frames, 1, HL_NAMES);
    if (i == HL_NAMES) return 0;
    struct frame *to = &n->frame[i]; // its state may be read meanwhile
    to->function = f->function;
    to->file = f->file;
    to->language = f->language;
    to->line = f->line;
    to->hash = f->hash;
    __atomic_store_n(&to->state, READY, __ATOMIC_RELEASE);
    return i + 1;
}

uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line, const char *language) {
    struct names *n = all_names();
    if (n == NULL) return 0;
    struct frame f = {.line = line, .language = language};
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

uint32_t hl_names_count(void) {
    struct names *n = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
    return n ? __atomic_load_n(&n->frames, __ATOMIC_ACQUIRE) : 0;
}

bool hl_names_get(uint32_t i, struct hl_frame_name *to) {
    const struct frame *f = &names->frame[i];
    if (__atomic_load_n(&f->state, __ATOMIC_ACQUIRE) != READY) return false;
    *to = (struct hl_frame_name){.address = address_of(i),
                                 .function = f->function->text,
                                 .function_length = f->function->length,
                                 .file = f->file->text,
                                 .file_length = f->file->length,
                                 .line = f->line,
                                 .language = f->language};
    return true;
}
