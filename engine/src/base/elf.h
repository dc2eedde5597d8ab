// The parts of the ELF format that the engine reads from memory, and the symbols of loaded objects.
#ifndef HL_BASE_ELF_H
#define HL_BASE_ELF_H

#include "base/memory.h"

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

enum {
    HL_PT_LOAD = 1,
    HL_PT_DYNAMIC = 2,
    HL_PT_EH_FRAME = 0x6474e550,
    HL_PT_RELRO = 0x6474e552,
};

// struct hl_tables has the addresses of the tables of an object; 0 if it has none.
struct hl_tables {
    uintptr_t base; // added to the addresses in the file
    uintptr_t names, symbols, versions, hash, gnu_hash;
    uintptr_t plt, rela; // relocations
    uint64_t plt_size, rela_size;
};

// hl_tables_read reads the dynamic section of an object. It returns false if the section cannot be
// read, or if the object has no symbols.
bool hl_tables_read(struct hl_window *w, uintptr_t base, uintptr_t dynamic, struct hl_tables *t);

// hl_tables_find finds a symbol that the object defines and exports, in its default version.
bool hl_tables_find(struct hl_window *w, const struct hl_tables *t, const char *name,
                    struct hl_elf_symbol *found);

#endif
