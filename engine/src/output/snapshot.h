// Snapshots, in the format of gperftools. The values are estimates, not samples, so that every
// reader of the format shows the right numbers.
#ifndef HL_OUTPUT_SNAPSHOT_H
#define HL_OUTPUT_SNAPSHOT_H

#include "base/platform.h"

// enum hl_trigger is what causes a snapshot. If several are wanted, the last one is its reason.
enum hl_trigger {
    HL_TIME,
    HL_ALLOCATED,
    HL_HIGH_WATER,
    HL_MANUAL,
    HL_SIGNAL,
    HL_EXEC,
    HL_EXIT,
    HL_TRIGGERS,
};

// hl_snapshot_write writes a snapshot and what belongs to it. It reports whether it did. It calls
// no function of the C library. Only one thread calls it at a time.
bool hl_snapshot_write(enum hl_trigger trigger);

// hl_snapshot_signal is the number of the signal of HL_SIGNAL.
extern uint64_t hl_snapshot_signal;

// hl_snapshot_forked is called in a forked child.
void hl_snapshot_forked(void);

#endif
