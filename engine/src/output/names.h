// The names of the files of this process image. Used by the thread that writes a snapshot.
#ifndef HL_OUTPUT_NAMES_H
#define HL_OUTPUT_NAMES_H

#include "base/platform.h"

enum { HL_PATH = 4096 };

// hl_names_image finds the number of this process image: 0, or more if this process has run other
// programs before, or if another process with the same number was recorded before. It creates the
// events file, whose name marks the number as used. It returns 0 or an error number.
int hl_names_image(uint64_t *image);

// hl_names_reset makes hl_names_image choose again: in a forked child.
void hl_names_reset(void);

void hl_names_events(char path[HL_PATH]);
void hl_names_frames(char path[HL_PATH]);

// hl_names_snapshot writes the path of the next snapshot, and returns its number.
uint64_t hl_names_snapshot(char path[HL_PATH]);

#endif
