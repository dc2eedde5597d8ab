#include "base/elf.h"

enum {
    DT_PLTRELSZ = 2,
    DT_HASH = 4,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_RELA = 7,
    DT_RELASZ = 8,
    DT_JMPREL = 23,
    DT_GNU_HASH = 0x6ffffef5,
    DT_VERSYM = 0x6ffffff0,
};

// The lists of damaged tables may have no end.
enum { MAX_ENTRIES = 1 << 16, MAX_CHAIN = 1 << 16 };

// dynamic_address returns the address of a table. glibc has replaced the address in the file by the
// one in memory; musl has not.
static uintptr_t dynamic_address(uintptr_t base, uintptr_t value) {
    return value < base ? value + base : value;
}

struct dynamic_entry {
    uintptr_t tag, value;
};

static void set_table(struct hl_tables *t, const struct dynamic_entry *e) {
    uintptr_t address = dynamic_address(t->base, e->value);
    switch (e->tag) {
    case DT_STRTAB: t->names = address; break;
    case DT_SYMTAB: t->symbols = address; break;
    case DT_VERSYM: t->versions = address; break;
    case DT_HASH: t->hash = address; break;
    case DT_GNU_HASH: t->gnu_hash = address; break;
    case DT_JMPREL: t->plt = address; break;
    case DT_PLTRELSZ: t->plt_size = e->value; break;
    case DT_RELA: t->rela = address; break;
    case DT_RELASZ: t->rela_size = e->value; break;
    }
}

bool hl_tables_read(struct hl_window *w, uintptr_t base, uintptr_t dynamic, struct hl_tables *t) {
    enum { BLOCK = 16 };
    struct dynamic_entry block[BLOCK];
    *t = (struct hl_tables){.base = base};
    for (size_t n = 0; n < MAX_ENTRIES; n += BLOCK) {
        // Behind the last entry there may be a page that cannot be read.
        size_t whole = (HL_PAGE - dynamic % HL_PAGE) / sizeof *block, size = sizeof block;
        if (whole > 0 && whole < BLOCK) size = whole * sizeof *block;
        if (!hl_copy(w, block, dynamic, size)) return false;
        for (size_t i = 0; i < size / sizeof *block; i++) {
            if (block[i].tag == 0) return t->names != 0 && t->symbols != 0;
            set_table(t, &block[i]);
        }
        dynamic += size;
    }
    return false;
}

static bool load32(struct hl_window *w, uintptr_t at, uint32_t *value) {
    return hl_copy(w, value, at, sizeof *value);
}

static bool same_name(struct hl_window *w, uintptr_t at, const char *name) {
    enum { LONGEST = 64 };
    char found[LONGEST];
    size_t size = hl_strlen(name) + 1;
    if (w->unstable) // a shorter name may be the last one that can be read
        return size <= LONGEST && hl_copy(w, found, at, size) && memcmp(found, name, size) == 0;
    for (;; at++, name++) {
        if (!hl_readable(w, at, 1) || *(const char *)at != *name) return false;
        if (*name == 0) return true;
    }
}

// matches reports whether symbol number i has the name, is defined, and has the default version. If
// so, *found is set.
static bool matches(struct hl_window *w, const struct hl_tables *t, uint32_t i, const char *name,
                    struct hl_elf_symbol *found) {
    enum { HIDDEN = 0x8000 };
    uint16_t version = 0;
    if (!hl_copy(w, found, t->symbols + (uintptr_t)i * sizeof *found, sizeof *found) ||
        found->section == 0 || found->value == 0)
        return false;
    if (t->versions != 0 &&
        !hl_copy(w, &version, t->versions + (uintptr_t)i * sizeof version, sizeof version))
        return false;
    return !(version & HIDDEN) && same_name(w, t->names + found->name, name);
}

// by_gnu_hash looks a name up in the table of DT_GNU_HASH: the header; a Bloom filter, which only
// saves time; for each hash modulo buckets the first symbol; for each symbol from first on its
// hash, whose lowest bit marks the last one of a bucket.
static bool by_gnu_hash(struct hl_window *w, const struct hl_tables *t, const char *name,
                        struct hl_elf_symbol *found) {
    uint32_t header[4], hash = 5381, i, h; // buckets, first, words of the filter, shift
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    if (!hl_copy(w, header, t->gnu_hash, sizeof header) || header[0] == 0) return false;
    uintptr_t buckets = t->gnu_hash + sizeof header + (uintptr_t)header[2] * sizeof(uintptr_t);
    uintptr_t chain = buckets + (uintptr_t)header[0] * sizeof h;
    if (!load32(w, buckets + (uintptr_t)(hash % header[0]) * sizeof i, &i) || i < header[1])
        return false;
    for (int n = 0; n < MAX_CHAIN && i != 0; n++, i++) {
        if (!load32(w, chain + (uintptr_t)(i - header[1]) * sizeof h, &h)) return false;
        if ((h | 1) == (hash | 1) && matches(w, t, i, name, found)) return true;
        if (h & 1) return false;
    }
    return false;
}

// by_hash looks a name up in the table of DT_HASH: the numbers of buckets and of symbols; for each
// hash modulo buckets the first symbol; for each symbol the next one of its bucket.
static bool by_hash(struct hl_window *w, const struct hl_tables *t, const char *name,
                    struct hl_elf_symbol *found) {
    uint32_t header[2], hash = 0, i;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
    }
    if (!hl_copy(w, header, t->hash, sizeof header) || header[0] == 0) return false;
    uintptr_t buckets = t->hash + sizeof header;
    uintptr_t chain = buckets + (uintptr_t)header[0] * sizeof i;
    if (!load32(w, buckets + (uintptr_t)(hash % header[0]) * sizeof i, &i)) return false;
    for (int n = 0; n < MAX_CHAIN && i != 0; n++) {
        if (matches(w, t, i, name, found)) return true;
        if (!load32(w, chain + (uintptr_t)i * sizeof i, &i)) return false;
    }
    return false;
}

bool hl_tables_find(struct hl_window *w, const struct hl_tables *t, const char *name,
                    struct hl_elf_symbol *found) {
    if (t->gnu_hash != 0) return by_gnu_hash(w, t, name, found);
    return t->hash != 0 && by_hash(w, t, name, found);
}
