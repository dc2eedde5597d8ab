// Reading tables in memory that may be damaged or missing.
#ifndef HL_UNWIND_READER_H
#define HL_UNWIND_READER_H

#include "base/memory.h"

// struct hl_reader reads from at up to end. After an error failed is set, and all values are zero.
struct hl_reader {
    struct hl_window *window;
    uintptr_t at, end;
    bool failed;
};

uint64_t hl_read_unsigned(struct hl_reader *r, size_t size); // 1, 2, 4 or 8 bytes
int64_t hl_read_signed(struct hl_reader *r, size_t size);
uint64_t hl_read_uleb(struct hl_reader *r);
int64_t hl_read_sleb(struct hl_reader *r);
void hl_skip(struct hl_reader *r, uint64_t n);

// hl_read_pointer reads a pointer that is encoded as the DW_EH_PE byte tells. data is the base of
// pointers that are relative to the table.
uintptr_t hl_read_pointer(struct hl_reader *r, uint8_t encoding, uintptr_t data);

#endif
