#include "heap/regions.h"

#include "heap/record.h"
#include "heap/sites.h"

struct hl_lock hl_regions_lock;

struct region {
    uintptr_t start, end;
    uint32_t site;
};

// The regions in the order of their addresses. The memory for the maximum is reserved, and becomes
// resident as it is used. The kernel's default limit is 65530 mappings.
static struct region *regions;
static size_t count;
size_t hl_regions_limit = 1 << 17;

bool hl_regions_init(void) {
    regions = hl_pages_alloc(hl_regions_limit * sizeof *regions);
    return regions != NULL;
}

size_t hl_regions_count(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }

void hl_regions_clear(void) { __atomic_store_n(&count, 0, __ATOMIC_RELAXED); }

void hl_regions_repair(void (*visit)(uint32_t site, int64_t objects, int64_t bytes)) {
    size_t kept = 0;
    uintptr_t end = 0;
    for (size_t i = 0; i < count; i++) {
        struct region r = regions[i];
        if (r.start < end || r.end <= r.start) continue; // it was being moved
        regions[kept++] = r;
        end = r.end;
        visit(r.site, HL_WEIGHT_ONE, (int64_t)(r.end - r.start));
    }
    count = kept;
}

// first_behind returns the index of the first region that ends behind an address.
static size_t first_behind(uintptr_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t hl_regions_site(uintptr_t address) {
    size_t i = first_behind(address);
    return i < count ? regions[i].site : 0;
}

static void insert(size_t i, struct region r) {
    memmove(&regions[i + 1], &regions[i], (count - i) * sizeof *regions);
    regions[i] = r;
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
}

static void drop(size_t from, size_t to) {
    memmove(&regions[from], &regions[to], (count - to) * sizeof *regions);
    __atomic_store_n(&count, count - (to - from), __ATOMIC_RELAXED);
}

bool hl_regions_add(uintptr_t start, size_t size, uint32_t site) {
    if (count >= hl_regions_limit) return false;
    insert(first_behind(start), (struct region){start, start + size, site});
    hl_lock(&hl_heap_lock);
    hl_sums_allocated(site, HL_WEIGHT_ONE, (int64_t)size);
    hl_unlock(&hl_heap_lock);
    return true;
}

static void freed(const struct region *r, int64_t objects, size_t bytes) {
    hl_lock(&hl_heap_lock);
    hl_sums_freed(r->site, objects * HL_WEIGHT_ONE, (int64_t)bytes);
    hl_unlock(&hl_heap_lock);
}

// cut removes the middle of a region, whose two parts then count as two objects. If there is no
// room for another region, the upper part is forgotten too.
static size_t cut(size_t i, uintptr_t start, uintptr_t end) {
    struct region *r = &regions[i], upper = {end, r->end, r->site};
    bool fits = count < hl_regions_limit;
    size_t bytes = fits ? end - start : r->end - start;
    freed(r, fits ? -1 : 0, bytes);
    r->end = start;
    if (fits) insert(i + 1, upper);
    return bytes;
}

size_t hl_regions_remove(uintptr_t start, size_t size) {
    uintptr_t end = start + size;
    size_t i = first_behind(start), removed = 0;
    if (i < count && regions[i].start < start && regions[i].end > end) return cut(i, start, end);
    if (i < count && regions[i].start < start) { // the upper part of this one
        freed(&regions[i], 0, regions[i].end - start);
        removed += regions[i].end - start;
        regions[i++].end = start;
    }
    size_t from = i;
    for (; i < count && regions[i].end <= end; i++) { // whole ones
        freed(&regions[i], 1, regions[i].end - regions[i].start);
        removed += regions[i].end - regions[i].start;
    }
    if (i < count && regions[i].start < end) { // the lower part of this one
        freed(&regions[i], 0, end - regions[i].start);
        removed += end - regions[i].start;
        regions[i].start = end;
    }
    drop(from, i);
    return removed;
}

// is_arena reports whether a region has the size of an arena (256 KiB before CPython 3.10, then 1
// MiB) and was mapped by the object. Frame 0 of its site is "[mmap]", frame 1 is the caller.
static bool is_arena(const struct region *r, uintptr_t object_start, uintptr_t object_end) {
    enum { OLD_ARENA = 256 << 10, ARENA = 1 << 20 };
    const struct hl_site *s = hl_site(r->site);
    size_t size = r->end - r->start;
    if ((size != OLD_ARENA && size != ARENA) || s->n < 2) return false;
    return s->frames[1] >= object_start && s->frames[1] < object_end;
}

void hl_regions_forget_arenas(uintptr_t object_start, uintptr_t object_end) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    for (size_t i = count; i-- > 0;)
        if (is_arena(&regions[i], object_start, object_end))
            hl_regions_remove(regions[i].start, regions[i].end - regions[i].start);
    hl_unlock(&hl_regions_lock);
    hl_signals_restore(signals);
}
