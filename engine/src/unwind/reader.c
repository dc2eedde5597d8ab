#include "unwind/reader.h"

uint64_t hl_read_unsigned(struct hl_reader *r, size_t size) {
    uint64_t value = 0; // all processors are little-endian
    if (r->failed || r->at > r->end || size > r->end - r->at ||
        !hl_copy(r->window, &value, r->at, size)) {
        r->failed = true;
        return 0;
    }
    r->at += size;
    return value;
}

int64_t hl_read_signed(struct hl_reader *r, size_t size) {
    unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(hl_read_unsigned(r, size) << unused) >> unused;
}

uint64_t hl_read_uleb(struct hl_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)hl_read_unsigned(r, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    r->failed = true;
    return 0;
}

int64_t hl_read_sleb(struct hl_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = (uint8_t)hl_read_unsigned(r, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (shift < 64 && byte & 0x40) value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
    r->failed = true;
    return 0;
}

void hl_skip(struct hl_reader *r, uint64_t n) {
    if (r->failed || r->at > r->end || n > r->end - r->at)
        r->failed = true;
    else
        r->at += n;
}

static uint64_t read_value(struct hl_reader *r, uint8_t format) {
    switch (format) {
    case 0x00: return hl_read_unsigned(r, 8);
    case 0x01: return hl_read_uleb(r);
    case 0x02: return hl_read_unsigned(r, 2);
    case 0x03: return hl_read_unsigned(r, 4);
    case 0x04: return hl_read_unsigned(r, 8);
    case 0x09: return (uint64_t)hl_read_sleb(r);
    case 0x0a: return (uint64_t)hl_read_signed(r, 2);
    case 0x0b: return (uint64_t)hl_read_signed(r, 4);
    case 0x0c: return (uint64_t)hl_read_signed(r, 8);
    default: r->failed = true; return 0;
    }
}

uintptr_t hl_read_pointer(struct hl_reader *r, uint8_t encoding, uintptr_t data) {
    enum { FORMAT = 0x0f, BASE = 0xf0, ABSOLUTE = 0x00, RELATIVE = 0x10, TO_DATA = 0x30 };
    uintptr_t at = r->at, value = read_value(r, encoding & FORMAT);
    switch (encoding & BASE) {
    case ABSOLUTE: break;
    case RELATIVE: value += at; break;
    case TO_DATA: value += data; break;
    default: r->failed = true;
    }
    return r->failed ? 0 : value;
}
