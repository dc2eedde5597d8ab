#include "heap/live.h"

uint8_t hl_filter[1 << HL_FILTER_BITS] HL_ALONE;
size_t hl_live_limit = 1 << 24;

// The table is a hash table with linear probing. It has twice as many places as samples or more.
// Removing shifts later entries back, so there are no tombstones. hl_live_has reads it without the
// lock: version is odd while an entry is moved, and changes when that is done. Most removals move
// none, because the table is nearly empty.
struct table {
    struct place {
        uintptr_t key; // 0 if the place is free
        struct hl_live value;
    } *places;
    size_t mask; // number of places - 1
};

// Each table is larger than the one before. Their descriptions never change, because hl_live_has
// may read an old one.
enum { TABLES = 32 };
static struct table tables[TABLES];
static struct table *current = &tables[0];
static uint32_t version HL_ALONE;
static size_t count HL_LOCKED;
static uint32_t numbers HL_LOCKED HL_ALONE; // samples until now, which number them

// heaplapse reads this from outside (internal/holders/samples), and heaplapse_sites.
HL_EXPORT const void *const heaplapse_live[] = {&current, &numbers, hl_pages,
                                                hl_pages + HL_LENGTH(hl_pages)};

static size_t place_of(const struct table *t, uintptr_t key) {
    return (size_t)(((key >> 4) * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & t->mask;
}

// find returns the place of a key, or the free place at which its search ends.
static size_t find(const struct table *t, uintptr_t key) {
    size_t i = place_of(t, key);
    for (;; i = (i + 1) & t->mask) {
        uintptr_t k = t->places[i].key;
        if (k == key || k == 0) return i;
    }
}

bool hl_live_has(const void *p, uint32_t *number) {
    uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
    const struct table *t = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (!t->places) return false;
    bool found = false;
    size_t i = place_of(t, (uintptr_t)p);
    // The number of steps is limited, because the table may change meanwhile.
    for (size_t steps = 0; steps <= t->mask && !found; steps++, i = (i + 1) & t->mask) {
        uintptr_t k = __atomic_load_n(&t->places[i].key, __ATOMIC_RELAXED);
        if (k == 0) break;
        found = k == (uintptr_t)p;
        if (found) *number = __atomic_load_n(&t->places[i].value.number, __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint32_t after = __atomic_load_n(&version, __ATOMIC_RELAXED);
    if (before == after && before % 2 == 0) return found;
    *number = HL_ANY;
    return true;
}

static void changing(void) {
    __atomic_store_n(&version, version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void changed(void) { __atomic_store_n(&version, version + 1, __ATOMIC_RELEASE); }

static size_t bytes_of(size_t places) { return places * sizeof(struct place); }

static void store(struct table *t, size_t i, uintptr_t key, struct hl_live value) {
    t->places[i].value.size = value.size;
    t->places[i].value.site = value.site;
    __atomic_store_n(&t->places[i].value.number, value.number, __ATOMIC_RELAXED);
    __atomic_store_n(&t->places[i].key, key, __ATOMIC_RELEASE);
}

// empty_pages gives the memory of a table back but keeps its addresses, because hl_live_has may
// still read there. It then reads zeros.
static void empty_pages(struct table *t) {
    enum { MADV_DONTNEED = 4 };
    if (t->places) hl_syscall3(HL_SYS_madvise, t->places, bytes_of(t->mask + 1), MADV_DONTNEED);
}

// grow makes a table of the given number of places the current one.
static bool grow(size_t places) {
    struct table *old = current, *fresh = old + 1;
    struct place *memory = fresh < tables + TABLES ? hl_pages_alloc(bytes_of(places)) : NULL;
    if (!memory) return false;
    changing();
    *fresh = (struct table){memory, places - 1};
    for (size_t i = 0; old->places && i <= old->mask; i++) {
        const struct place *p = &old->places[i];
        if (p->key) store(fresh, find(fresh, p->key), p->key, p->value);
    }
    __atomic_store_n(&current, fresh, __ATOMIC_RELEASE);
    changed();
    empty_pages(old);
    return true;
}

static bool ensure_room(void) {
    enum { FIRST_PLACES = 256 }; // few, so that they stay in the processor's cache
    if (!current->places) return grow(FIRST_PLACES);
    size_t places = current->mask + 1;
    if (count + 1 <= places / 2) return true;
    if (count >= hl_live_limit) return false;
    return grow(places * 2) || count + 1 <= places / 8 * 7;
}

static void filter_add(const void *p) {
    uint8_t *c = &hl_filter[hl_filter_index((uintptr_t)p)];
    if (*c != UINT8_MAX) __atomic_store_n(c, *c + 1, __ATOMIC_RELAXED);
}

static void filter_remove(const void *p) {
    uint8_t *c = &hl_filter[hl_filter_index((uintptr_t)p)];
    if (*c != UINT8_MAX) __atomic_store_n(c, *c - 1, __ATOMIC_RELAXED);
}

bool hl_live_add(const void *p, struct hl_live sample, struct hl_live *stale, bool *was_stale) {
    *was_stale = false;
    if (!ensure_room()) return false;
    if (sample.number == HL_ANY) sample.number = ++numbers != HL_ANY ? numbers : ++numbers;
    size_t i = find(current, (uintptr_t)p);
    struct place *place = &current->places[i];
    if (place->key) {
        *stale = place->value;
        *was_stale = true;
        place->value = sample;
        return true;
    }
    store(current, i, (uintptr_t)p, sample);
    filter_add(p);
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
    return true;
}

// close_gap removes the entry at place i and moves the entries behind it that must not be separated
// from their home by a free place.
static void close_gap(struct table *t, size_t i) {
    bool moves = false;
    for (size_t j = (i + 1) & t->mask; t->places[j].key; j = (j + 1) & t->mask) {
        size_t home = place_of(t, t->places[j].key);
        if (((j - home) & t->mask) < ((j - i) & t->mask)) continue;
        if (!moves) changing();
        moves = true;
        store(t, i, t->places[j].key, t->places[j].value);
        i = j;
    }
    __atomic_store_n(&t->places[i].key, 0, __ATOMIC_RELAXED);
    if (moves) changed();
}

bool hl_live_remove(const void *p, uint32_t number, struct hl_live *sample) {
    if (!current->places) return false;
    size_t i = find(current, (uintptr_t)p);
    const struct place *place = &current->places[i];
    if (!place->key || (number != HL_ANY && number != place->value.number)) return false;
    *sample = place->value;
    close_gap(current, i);
    filter_remove(p);
    __atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
    return true;
}

bool hl_live_repair(void (*visit)(const struct hl_live *sample)) {
    version = 0;
    count = 0;
    memset(hl_filter, 0, sizeof hl_filter);
    if (!current->places) return true;
    size_t size = bytes_of(current->mask + 1);
    struct table old = {hl_pages_alloc(size), current->mask};
    if (!old.places) return false;
    memcpy(old.places, current->places, size);
    empty_pages(current);
    for (size_t i = 0; i <= old.mask; i++) {
        const struct place *p = &old.places[i];
        size_t to = p->key ? find(current, p->key) : 0;
        if (!p->key || current->places[to].key) continue; // or an entry that was being moved
        store(current, to, p->key, p->value);
        filter_add((const void *)p->key);
        __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
        visit(&p->value);
    }
    hl_pages_free(old.places, size);
    return true;
}

void hl_live_clear(void) {
    changing();
    empty_pages(current);
    for (size_t i = 0; i < HL_LENGTH(hl_filter); i++)
        __atomic_store_n(&hl_filter[i], 0, __ATOMIC_RELAXED);
    count = 0;
    changed();
}

size_t hl_live_count(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
