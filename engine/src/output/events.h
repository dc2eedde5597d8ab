// The events file: what happened to the recording of this process image, one JSON object a line.
// The thread that writes a snapshot writes it.
#ifndef HL_OUTPUT_EVENTS_H
#define HL_OUTPUT_EVENTS_H

#include "base/platform.h"

struct hl_snapshot_event {
    uint64_t sequence;
    const char *trigger;
    uint64_t signal;       // that ends the process, or 0
    int64_t time;          // real time, ns
    int64_t duration, cpu; // of writing it, ns; cpu is the processor time of the thread
    uint64_t sites, samples;
};

// hl_events_snapshot appends a snapshot and the problems since the last call. It returns 0 or an
// error number.
int hl_events_snapshot(const struct hl_snapshot_event *e);

// hl_events_problems appends the problems since the last call.
int hl_events_problems(void);

// hl_events_forked is called in a forked child that is recorded.
void hl_events_forked(void);

#endif
