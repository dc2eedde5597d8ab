// Loaded objects (the program and its libraries), and the symbols that they define.
//
// The functions read the loader's list with dl_iterate_phdr, which allocates nothing. Its lock is
// held for a moment only, but no lock of the engine may be held meanwhile: another thread may
// allocate memory while it holds the loader's lock.
#ifndef HL_BASE_OBJECTS_H
#define HL_BASE_OBJECTS_H

#include "base/platform.h"

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
// the first object behind the engine in the list, as dlsym(RTLD_NEXT) does.
void hl_find_following(struct hl_symbol *symbols, size_t n);

// hl_find finds the first definition of each symbol in any object, including the engine.
void hl_find(struct hl_symbol *symbols, size_t n);

// struct hl_replacement is a function whose callers are to call another one.
struct hl_replacement {
    const char *name;
    void *original, *replacement;
};

// hl_replace writes the replacements into the tables of imports of all objects except the engine
// and the object that defines the originals. A slot is replaced if it holds the original, or, if
// unbound is set, if it will be bound at the first call. It returns what hl_loads does.
uint64_t hl_replace(const struct hl_replacement *all, size_t n, const void *definer, bool unbound);

// hl_loads returns the number of objects loaded until now.
uint64_t hl_loads(void);

// hl_object_name copies the name of the object that contains an address. For the program it is "".
// It returns false if there is none.
bool hl_object_name(uintptr_t address, char *name, size_t size);

#endif
