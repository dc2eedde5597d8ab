// The program and its libraries, as the dynamic linker lists them, and the symbols that they
// define.
//
// The functions take no lock, because they are used inside malloc and in forked children. A thread
// that has the linker's lock may wait for a lock that this thread holds; in a child that was forked
// meanwhile the linker's lock is held for ever. Hence the list may be changing: entries may be
// missed, and their pointers may be stale. All memory that they point to is read through a window.
#ifndef HL_BASE_OBJECTS_H
#define HL_BASE_OBJECTS_H

#include "base/elf.h"

// struct hl_module is an entry of the dynamic linker's list (struct link_map in glibc and musl).
struct hl_module {
    uintptr_t base;    // added to the addresses in the file
    uintptr_t name;    // a path; empty for the program
    uintptr_t dynamic; // its dynamic section
    uintptr_t next;
};

// hl_module_next reads the object behind *o in the list, and sets *at to its address. *at is zero
// at first.
bool hl_module_next(struct hl_window *w, uintptr_t *at, struct hl_module *o);

// hl_module_list returns a number that changes when the list does.
uintptr_t hl_module_list(void);

// hl_module_symbol finds a symbol that the object defines and exports. size may be NULL.
uintptr_t hl_module_symbol(struct hl_window *w, const struct hl_module *o, const char *name,
                           size_t *size);

// struct hl_extent has the addresses of an object.
struct hl_extent {
    uintptr_t start, end;
    uintptr_t unwind_table; // address of .eh_frame_hdr, or 0
};

// hl_module_extent reads the program headers of an object. is_program tells the program, the first
// object of the list. It returns false if they cannot be read.
bool hl_module_extent(struct hl_window *w, const struct hl_module *o, bool is_program,
                      struct hl_extent *e);

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

// The functions below are called when the engine begins. They read memory directly if it was loaded
// with the program: libraries are not unloaded then, and a filter may forbid system calls.

// hl_find_following finds the definitions that the program would use without the engine: those of
// the first object behind the engine in the list, as dlsym(RTLD_NEXT) does. If hl_loaded_late is
// set, the engine is the last object, and those of the first other object are found.
extern bool hl_loaded_late;
void hl_find_following(struct hl_symbol *symbols, size_t n);

// hl_find finds the first definition of each symbol in any object, including the engine.
void hl_find(struct hl_symbol *symbols, size_t n);

// hl_object_name copies the name of the object that contains an address. For the program it is "".
// It returns false if there is none.
bool hl_object_name(uintptr_t address, char *name, size_t size);

#endif
