#include "heap/sites.h"

#include "base/names.h"

// The sites are in blocks that never move, and an index of their numbers finds them by their hash.
enum { BLOCK = 512, BLOCKS = 1 << 11, FRAMES_BLOCK = 256 << 10 };
static struct hl_site *blocks[BLOCKS];
static uint32_t count;
uint32_t hl_sites_limit = BLOCK * BLOCKS;
struct hl_sums hl_totals HL_LOCKED;

static uint32_t *places; // number of a site + 1, or 0
static uint32_t places_mask;

// Call paths are stored in blocks, which are kept for the next recording. The first word of a block
// points to the next one.
static uintptr_t *frames_first, *frames_block;
static char *frames_at, *frames_end; // the rest of frames_block

HL_EXPORT const void *const heaplapse_sites[] = {blocks, &count};
struct hl_site *hl_site(uint32_t number) { return &blocks[number / BLOCK][number % BLOCK]; }

uint32_t hl_sites_count(void) { return __atomic_load_n(&count, __ATOMIC_ACQUIRE); }

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

// hash_of mixes even and odd frames apart, because a processor can do both at the same time.
static uint64_t hash_of(const uintptr_t *frames, uint32_t n) {
    uint64_t even = n, odd = 0;
    uint32_t i = 0;
    for (; i + 1 < n; i += 2) {
        even = mix(even, frames[i]);
        odd = mix(odd, frames[i + 1]);
    }
    if (i < n) even = mix(even, frames[i]);
    return mix(even, odd);
}

static bool is_site(const struct hl_site *site, uint64_t hash, const uintptr_t *frames,
                    uint32_t n) {
    if (site->hash != hash || site->n != n) return false;
    uint32_t i = 0;
    while (i < n && site->frames[i] == frames[i]) i++;
    return i == n;
}

// find returns the place of a call path in the index, or the free place at which the search ends.
static uint32_t find(uint64_t hash, const uintptr_t *frames, uint32_t n) {
    uint32_t i = (uint32_t)hash & places_mask;
    while (places[i] && !is_site(hl_site(places[i] - 1), hash, frames, n))
        i = (i + 1) & places_mask;
    return i;
}

// make_index makes an index of the given number of places.
static bool make_index(uint32_t size) {
    uint32_t *fresh = hl_pages_alloc(size * sizeof *fresh);
    if (!fresh) return false;
    places = fresh;
    places_mask = size - 1;
    for (uint32_t number = 0; number < count; number++) {
        const struct hl_site *s = hl_site(number);
        uint32_t i = (uint32_t)s->hash & places_mask;
        while (places[i]) i = (i + 1) & places_mask;
        places[i] = number + 1;
    }
    return true;
}

static bool grow_index(void) {
    enum { FIRST = 1024 };
    uint32_t *old = places, size = old ? places_mask + 1 : 0;
    if (!make_index(old ? size * 2 : FIRST)) return false;
    if (old) hl_pages_free(old, size * sizeof *old);
    return true;
}

// next_frames makes the next block the current one. It allocates the block if there is none.
static bool next_frames(void) {
    uintptr_t *next = frames_block ? (uintptr_t *)frames_block[0] : frames_first;
    if (!next) {
        next = hl_pages_alloc(FRAMES_BLOCK);
        if (!next) return false;
        if (frames_block)
            frames_block[0] = (uintptr_t)next;
        else
            frames_first = next;
    }
    frames_block = next;
    frames_at = (char *)(next + 1);
    frames_end = (char *)next + FRAMES_BLOCK;
    return true;
}

static const uintptr_t *keep(const uintptr_t *frames, uint32_t n) {
    size_t size = n * sizeof *frames;
    if ((!frames_at || (size_t)(frames_end - frames_at) < size) && !next_frames()) return NULL;
    uintptr_t *kept = (uintptr_t *)frames_at;
    memcpy(kept, frames, size);
    frames_at += size;
    return kept;
}

// add creates a site. It returns false if there is no room.
static bool add(uint64_t hash, const uintptr_t *frames, uint32_t n) {
    if (count >= hl_sites_limit || count >= BLOCK * BLOCKS) return false;
    struct hl_site **block = &blocks[count / BLOCK];
    if (!*block) *block = hl_pages_alloc(BLOCK * sizeof **block);
    if (!*block) return false;
    if ((!places || count >= places_mask / 2) && !grow_index()) return false;
    const uintptr_t *kept = keep(frames, n);
    if (!kept) return false;
    *hl_site(count) = (struct hl_site){.hash = hash, .frames = kept, .n = n};
    places[find(hash, frames, n)] = count + 1;
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
    return true;
}

bool hl_sites_init(void) { return add(hash_of(NULL, 0), NULL, 0); }

// increase adds to a sum, which other threads may read at any time.
static void increase(int64_t *sum, int64_t by) {
    __atomic_store_n(sum, *sum + by, __ATOMIC_RELAXED);
}

static void add_sums(struct hl_sums *s, const struct hl_sums *by) {
    increase(&s->inuse_objects, by->inuse_objects);
    increase(&s->inuse_bytes, by->inuse_bytes);
    increase(&s->alloc_objects, by->alloc_objects);
    increase(&s->alloc_bytes, by->alloc_bytes);
}

bool hl_sites_repair(void) {
    uint32_t size = 1024;
    while (size / 2 <= count) size *= 2;
    for (uint32_t i = 0; i < count; i++)
        hl_site(i)->sums.inuse_objects = hl_site(i)->sums.inuse_bytes = 0;
    return make_index(size); // the old one may not be whole
}

void hl_sites_sum(void) {
    hl_totals = (struct hl_sums){0, 0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        struct hl_sums *s = &hl_site(i)->sums;
        if (s->alloc_objects < s->inuse_objects) s->alloc_objects = s->inuse_objects;
        if (s->alloc_bytes < s->inuse_bytes) s->alloc_bytes = s->inuse_bytes;
        add_sums(&hl_totals, s);
    }
}

void hl_sites_clear(void) {
    memset(places, 0, (places_mask + 1) * sizeof *places);
    frames_block = NULL;
    frames_at = frames_end = NULL;
    hl_totals = (struct hl_sums){0, 0, 0, 0};
    __atomic_store_n(&count, 0, __ATOMIC_RELEASE);
    hl_sites_init();
}

// name_other gives the first site its frame. Programs that never need it have no such frame.
static void name_other(void) {
    static const char other[] = "[stacks beyond the limit]";
    static uintptr_t frame;
    struct hl_site *s = hl_site(HL_SITE_OTHER);
    if (s->n != 0) return;
    frame = hl_name(other, sizeof other - 1, "", 0, 0, NULL);
    s->frames = &frame;
    __atomic_store_n(&s->n, frame != 0, __ATOMIC_RELEASE);
}

uint32_t hl_site_of(const struct hl_stack *s, bool *full) {
    uint64_t hash = hash_of(s->pc, s->n);
    uint32_t i = find(hash, s->pc, s->n);
    *full = false;
    if (places[i]) return places[i] - 1;
    if (add(hash, s->pc, s->n)) return count - 1;
    *full = true;
    name_other();
    return HL_SITE_OTHER;
}

void hl_sums_allocated(uint32_t site, int64_t objects, int64_t bytes) {
    struct hl_sums by = {objects, bytes, objects, bytes};
    add_sums(&hl_site(site)->sums, &by);
    add_sums(&hl_totals, &by);
}

void hl_sums_freed(uint32_t site, int64_t objects, int64_t bytes) {
    struct hl_sums by = {-objects, -bytes, 0, 0};
    add_sums(&hl_site(site)->sums, &by);
    add_sums(&hl_totals, &by);
}
