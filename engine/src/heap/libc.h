// The functions that the program would call without the engine: those of the C library, or of
// another allocator that is preloaded or linked.
#ifndef HL_HEAP_LIBC_H
#define HL_HEAP_LIBC_H

#include "base/platform.h"

// struct hl_real holds the functions of the allocator. Each pointer is valid from the start: at
// first it is a function that finds the real ones and calls the right one of them.
struct hl_real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
};
extern HL_OWN struct hl_real hl_real;

// The object that defines the real malloc.
extern uintptr_t hl_allocator_start, hl_allocator_end;

// hl_real_find finds the functions of the allocator again.
void hl_real_find(void);

// hl_out_of_memory sets errno to ENOMEM and returns NULL.
void *hl_out_of_memory(void);

#endif
