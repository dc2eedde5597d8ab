// When snapshots are taken.
#ifndef HL_OUTPUT_TRIGGER_H
#define HL_OUTPUT_TRIGGER_H

#include "output/snapshot.h"

// hl_trigger_init makes the samples cause snapshots. When a Python interpreter begins to free
// everything, a snapshot is taken, and those of the next seconds of processor time, but of no more
// than a minute, are dropped: they would show an interpreter that is being torn down.
void hl_trigger_init(void);

// hl_trigger_last takes a snapshot because the process image may end now, and waits for it. There
// are no more snapshots after HL_EXIT.
void hl_trigger_last(enum hl_trigger trigger);

// hl_trigger_leave lets the recorder look at what holds the memory, because the program is about to
// run its exit handlers. It does nothing if an interpreter has freed everything.
void hl_trigger_leave(void);

// hl_trigger_manual takes a snapshot because the program's user has asked for one.
void hl_trigger_manual(void);

// hl_trigger_ended reports whether there are no snapshots any more, or for some seconds.
bool hl_trigger_ended(void);

void hl_trigger_forked(void);

#endif
