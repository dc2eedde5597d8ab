// The frames file: what the addresses of synthetic frames mean, one JSON object a line.
#ifndef HL_OUTPUT_FRAMES_H
#define HL_OUTPUT_FRAMES_H

#include "base/platform.h"

// hl_frames_write sends the frames that were named since the last call. It returns false if that is
// not possible; the next call sends them then. pid and image are put into the first line. Only one
// thread calls it at a time.
bool hl_frames_write(uint64_t pid, uint64_t image, int64_t start_ns);

// hl_frames_forked is called in a forked child, which sends all frames again.
void hl_frames_forked(void);

#endif
