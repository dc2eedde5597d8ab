// Finding and decoding the entries of .eh_frame.
//
// Sources: Linux Standard Base Core, "Exception Frames"; DWARF 5, 6.4.
#ifndef HL_UNWIND_FDE_H
#define HL_UNWIND_FDE_H

#include "unwind/reader.h"

// struct hl_fde describes the code from start to end.
struct hl_fde {
    uintptr_t header;  // of the table that has the entry: .eh_frame_hdr
    uintptr_t address; // of the entry itself
    uintptr_t start, end;
    struct hl_reader initial; // instructions of the CIE
    struct hl_reader program; // instructions of the FDE
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t encoding; // of addresses in the program
    bool augmented;   // FDEs have data of languages in front of the program
    bool signal;      // the frame was pushed by the kernel for a signal handler
};

// hl_fde_find finds the entry for an instruction.
bool hl_fde_find(struct hl_window *w, uintptr_t pc, struct hl_fde *fde);

// hl_tables_forget drops what is kept of the tables. hl_tables_generation changes with it.
void hl_tables_forget(void);
uint32_t hl_tables_generation(void);

#endif
