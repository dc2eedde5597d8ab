// The parts of the ELF format that the engine reads from memory.
#ifndef HL_UNWIND_ELF_H
#define HL_UNWIND_ELF_H

#include "base/platform.h"

struct hl_elf_header {
    unsigned char ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct hl_elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

struct hl_elf_symbol {
    uint32_t name;
    unsigned char info, other;
    uint16_t section;
    uint64_t value, size;
};

enum { HL_PT_LOAD = 1, HL_PT_DYNAMIC = 2, HL_PT_EH_FRAME = 0x6474e550 };
enum {
    HL_DT_HASH = 4,
    HL_DT_STRTAB = 5,
    HL_DT_SYMTAB = 6,
    HL_DT_GNU_HASH = 0x6ffffef5,
};

#endif
