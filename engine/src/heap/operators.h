// C++ operators of another allocator. The operators new of the C++ libraries call malloc, and are
// recorded there. Those of an allocator such as jemalloc or tcmalloc do not. If the program uses
// such an allocator, the engine replaces the operators in the tables of imports of all objects. It
// does not define them as it defines malloc: in all other programs they must stay what they are.
#ifndef HL_HEAP_OPERATORS_H
#define HL_HEAP_OPERATORS_H

#include "base/slots.h"

// hl_operators_init is called once, before recording begins, and without locks.
void hl_operators_init(void);

// hl_operators_replaceable finds the operators of the allocator that have to be replaced, without
// replacing them. The result has *n entries; the original is NULL where there is nothing to
// replace.
const struct hl_replacement *hl_operators_replaceable(size_t *n);

// hl_operators_poll replaces the operators in objects that were loaded since the last call. It is
// called before a sample is taken, without locks.
void hl_operators_poll(void);

#endif
