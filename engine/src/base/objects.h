// Loaded objects (the program and its libraries), and the symbols that they define.
//
// The functions read the loader's list with dl_iterate_phdr, which allocates nothing. Its lock is
// held for a moment only, but no lock of the engine may be held meanwhile: another thread may
// allocate memory while it holds the loader's lock.
#ifndef HL_BASE_OBJECTS_H
#define HL_BASE_OBJECTS_H

#include "base/elf.h"

// struct hl_symbol is a function to find. hl_find_following and hl_find set address and object.
struct hl_symbol {
    const char *name;
    void *address; // NULL if nothing defines it
    struct {
        uintptr_t start, end; // addresses of the object that defines it
        bool is_program;
        bool is_engine;
    } object;
};

// hl_find_following finds the definitions that the program would use without the engine: those of
// the first object behind the engine in the list, as dlsym(RTLD_NEXT) does. If hl_loaded_late is
// set, the engine is the last object, and those of the first other object are found.
extern bool hl_loaded_late;
void hl_find_following(struct hl_symbol *symbols, size_t n);

// hl_find finds the first definition of each symbol in any object, including the engine.
void hl_find(struct hl_symbol *symbols, size_t n);

// hl_object_visit calls a function with each object, until it returns true.
struct hl_object {
    uintptr_t base;
    const char *name; // "" for the program
    const struct hl_elf_segment *phdr;
    uint16_t phdr_n;
    uint64_t loads, unloads; // number of objects loaded and unloaded until now
};
void hl_object_visit(bool (*visit)(const struct hl_object *o, void *context), void *context);

// hl_object_contains reports whether a loadable segment of the object contains an address.
bool hl_object_contains(const struct hl_object *o, uintptr_t address);

// hl_object_tables reads the tables of an object. It returns false if it has none.
bool hl_object_tables(const struct hl_object *o, struct hl_tables *t);

// struct hl_relocation is an entry of a table of relocations.
struct hl_relocation {
    uint64_t offset, info;
    int64_t addend;
};
enum {
#if defined(__x86_64__)
    HL_R_ABSOLUTE = 1,
    HL_R_GLOB_DAT = 6,
    HL_R_JUMP_SLOT = 7,
#else
    HL_R_ABSOLUTE = 257,
    HL_R_GLOB_DAT = 1025,
    HL_R_JUMP_SLOT = 1026,
#endif
};

// struct hl_replacement is a function whose callers are to call another one.
struct hl_replacement {
    const char *name;
    void *original, *replacement;
};

// hl_loads returns the number of objects loaded until now.
uint64_t hl_loads(void);

// hl_object_name copies the name of the object that contains an address. For the program it is "".
// It returns false if there is none.
bool hl_object_name(uintptr_t address, char *name, size_t size);

#endif
