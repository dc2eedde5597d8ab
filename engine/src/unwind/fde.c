#include "unwind/fde.h"

#include "unwind/index.h"
#include "unwind/published.h"

static uint32_t generation = 1;
uint32_t hl_tables_generation(void) { return __atomic_load_n(&generation, __ATOMIC_ACQUIRE); }
void hl_tables_forget(void) { __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE); }

// The first steps of each search in a table read the same words. They are kept, by address, with
// the generation in the upper half of the value: each would cost a system call.
enum { KEPT_BITS = 10 };
static struct kept {
    uint32_t sequence;
    uint64_t words[2]; // address, value
} kept[1 << KEPT_BITS];

// word returns the four bytes at an address of a table.
static int32_t word(struct hl_reader *r, uintptr_t at) {
    struct kept *k = &kept[at * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEPT_BITS)];
    uint64_t words[2], now = hl_tables_generation();
    if (!hl_published_read(&k->sequence, k->words, words, 2) || words[0] != at ||
        words[1] >> 32 != now) {
        r->at = at;
        words[0] = at;
        words[1] = now << 32 | hl_read_unsigned(r, 4);
        if (!r->failed) hl_published_write(&k->sequence, k->words, words, 2);
    }
    return (int32_t)words[1];
}

// search finds the FDE of the last function that begins at or before pc, by the sorted table in
// .eh_frame_hdr. It sets its address, which is 0 if there is none.
static void search(struct hl_window *w, uintptr_t end, uintptr_t pc, struct hl_fde *fde) {
    // All linkers write this: version 1, the address of .eh_frame (4 bytes), the number of
    // functions (4 bytes), a sorted table of pairs of 4 bytes that are relative to the header.
    enum { FORMAT = 0x3b031b01, COUNT = 8, TABLE = 12, PAIR = 8 };
    uintptr_t header = fde->header, table = header + TABLE;
    struct hl_reader r = {w, header, end, false};
    fde->address = 0;
    if (word(&r, header) != FORMAT || r.failed) return;
    uint64_t count = (uint32_t)word(&r, header + COUNT);
    if (r.failed || count == 0 || count > (end - table) / PAIR) return;

    uint64_t low = 0, high = count; // the answer is in [low, high)
    int64_t wanted = (int64_t)(pc - header);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        r.at = table + middle * PAIR;
        bool near = (high - low) * PAIR <= HL_PIECE; // few pieces have all that is left
        int64_t start = near ? hl_read_signed(&r, 4) : word(&r, r.at);
        if (r.failed) return;
        if (start <= wanted)
            low = middle;
        else
            high = middle;
    }
    r.at = table + low * PAIR;
    int64_t start = hl_read_signed(&r, 4), entry = hl_read_signed(&r, 4);
    if (!r.failed && start <= wanted) fde->address = header + (uintptr_t)entry;
}

// entry sets r to the contents of the CIE or FDE at an address.
static bool entry(struct hl_reader *r, uintptr_t at, uintptr_t end) {
    enum { LONG_FORMAT = 0xfffffff0 }; // is not used in .eh_frame
    r->at = at;
    r->end = end;
    uint64_t length = hl_read_unsigned(r, 4);
    if (r->failed || length == 0 || length >= LONG_FORMAT || length > end - r->at) return false;
    r->end = r->at + length;
    return true;
}

// augmentation reads the augmentation of a CIE, which starts with z.
static bool augmentation(struct hl_reader *r, const char *letters, struct hl_fde *fde) {
    uint64_t length = hl_read_uleb(r);
    if (r->failed || length > r->end - r->at) return false;
    struct hl_reader data = {r->window, r->at, r->at + length, false};
    hl_skip(r, length);
    for (const char *l = letters + 1; *l; l++) {
        switch (*l) {
        case 'R': fde->encoding = (uint8_t)hl_read_unsigned(&data, 1); break;
        case 'L': hl_skip(&data, 1); break;
        case 'P': { // the personality routine; indirect pointers have the same size
            uint8_t encoding = (uint8_t)hl_read_unsigned(&data, 1);
            hl_read_pointer(&data, encoding & 0x0f, 0);
            break;
        }
        case 'S': fde->signal = true; break;
        case 'B': // return addresses are signed with the B key
        case 'G': // memory tagging
            break;
        default: return !data.failed; // the length tells where the instructions begin
        }
    }
    return !data.failed;
}

static bool read_cie(struct hl_window *w, uintptr_t at, uintptr_t end, struct hl_fde *fde) {
    enum { LETTERS = 8 };
    struct hl_reader r = {w, at, end, false};
    if (!entry(&r, at, end) || hl_read_unsigned(&r, 4) != 0) return false;
    uint64_t version = hl_read_unsigned(&r, 1);
    if (version != 1 && version != 3 && version != 4) return false;
    char letters[LETTERS] = "";
    for (size_t i = 0;; i++) {
        if (i == LETTERS) return false;
        letters[i] = (char)hl_read_unsigned(&r, 1);
        if (letters[i] == 0) break;
    }
    if (version == 4) hl_skip(&r, 2); // sizes of addresses and segments
    fde->code_align = hl_read_uleb(&r);
    fde->data_align = hl_read_sleb(&r);
    fde->return_register = version == 1 ? hl_read_unsigned(&r, 1) : hl_read_uleb(&r);
    fde->encoding = 0;
    fde->signal = false;
    fde->augmented = letters[0] == 'z';
    if (letters[0] != 0 && (!fde->augmented || !augmentation(&r, letters, fde))) return false;
    fde->initial = r;
    return !r.failed;
}

bool hl_fde_find(struct hl_window *w, uintptr_t pc, struct hl_fde *fde) {
    // Where the tables end is not known. They are addressed by offsets of 32 bits with a sign.
    uintptr_t header = hl_unwind_table(pc), end = header + INT32_MAX;
    if (header == 0 || end < header) return false;
    fde->header = header;
    search(w, end, pc, fde);
    struct hl_reader r = {w, 0, 0, false};
    if (fde->address == 0 || fde->address >= end || !entry(&r, fde->address, end)) return false;
    uintptr_t at = r.at;
    uint64_t distance = hl_read_unsigned(&r, 4);
    if (r.failed || distance == 0 || distance > at || !read_cie(w, at - distance, end, fde))
        return false;
    fde->start = hl_read_pointer(&r, fde->encoding, 0);
    fde->end = fde->start + hl_read_pointer(&r, fde->encoding & 0x0f, 0);
    if (r.failed || pc < fde->start || pc >= fde->end) return false;
    if (fde->augmented) hl_skip(&r, hl_read_uleb(&r));
    fde->program = r;
    return !r.failed;
}
