// The timer of allocators. gperftools reads a clock, which the adapter moves. jemalloc has none:
// the adapter looks whether a snapshot is due whenever jemalloc walks the stack of a sample.
#ifndef HL_ADAPTER_TIMER_H
#define HL_ADAPTER_TIMER_H

#include "base/platform.h"

enum { HL_TIMED = 't' }; // the kind of snapshot, in the name, that the timer of jemalloc requests

// hl_timer_is_due reports whether a timed snapshot is due. If it is, the next interval starts.
bool hl_timer_is_due(void);

// hl_timer_hurry makes the allocator take a snapshot as soon as possible.
void hl_timer_hurry(void);

// hl_timer_init finds the functions that the others need.
void hl_timer_init(void);

// These are what the allocator calls instead of time, _Unwind_Backtrace and unw_backtrace. The last
// two are NULL if there is no such function.
long hl_timer_time(long *to);
extern int (*hl_timer_backtrace)(void *callback, void *argument);
extern int (*hl_timer_unw_backtrace)(void **to, int n);

#endif
