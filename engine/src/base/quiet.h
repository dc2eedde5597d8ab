// Samples for which no signal is blocked. The two system calls that block the signals and restore
// them take half of the time of a sample. They keep handlers of signals away from a thread that has
// a lock of the engine. Nothing has to be kept away as long as no signal can run code of the
// program: there is no handler, or only the engine's own, which waits until the sample is taken,
// and that of the C library, which does not wait.
//
// The first handler that the program sets makes the engine block signals from then on, and so does
// a thread that may be cancelled at any instruction: pthread_cancel sends a signal. A handler that
// is set by a system call, and not by a function of the C library, is noticed at the next snapshot,
// and within ten seconds.
#ifndef HL_BASE_QUIET_H
#define HL_BASE_QUIET_H

#include "base/platform.h"

// hl_quiet_start begins to take samples in this way, if no signal has a handler but own.
void hl_quiet_start(void (*own)(void));

// hl_quiet_stop ends that for good, and waits for the samples that are being taken.
void hl_quiet_stop(void);

// hl_quiet_look calls hl_quiet_stop if a signal has a handler.
void hl_quiet_look(void);

// hl_quiet_begin reports whether the thread may take a sample without blocking signals. If it may,
// hl_quiet_end must follow.
bool hl_quiet_begin(void);
void hl_quiet_end(void);

// hl_quiet_defer is called by the engine's own handler. It returns false if the thread takes no
// such sample. Otherwise the signal is sent again and blocked until the sample has been taken.
bool hl_quiet_defer(int sig, void *info, void *context);

// hl_quiet_forked is called in a forked child.
void hl_quiet_forked(void);

#endif
