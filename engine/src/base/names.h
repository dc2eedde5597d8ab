// Synthetic frames: functions of scripts, and frames that stand for something else than code. They
// have addresses that no process maps, which are in the rows of snapshots. The frames file tells
// what they mean.
#ifndef HL_BASE_NAMES_H
#define HL_BASE_NAMES_H

#include "base/platform.h"

// Synthetic frames have addresses from here on. In files, HL_NAMED_IMAGE times the number of the
// process image is added, so that an address has one meaning only.
#define HL_NAMED UINT64_C(0x0100000000000000)
#define HL_NAMED_IMAGE (UINT64_C(1) << 40)

enum { HL_NAMES = 1 << 16 }; // the most frames

// hl_name returns the address of a synthetic frame. The same function, file and line have the same
// address. language is a constant, such as "python", or NULL. It returns 0 if there is no memory
// for it. It takes no lock.
uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line, const char *language);

// struct hl_frame_name is a synthetic frame. The texts stay, and do not end with a zero byte.
struct hl_frame_name {
    uintptr_t address;
    const char *function, *file;
    size_t function_length, file_length;
    uint32_t line;
    const char *language; // NULL: the frame is not one of a script
};

// hl_names_count returns the number of frames; some may not be complete. hl_names_get returns false
// if number i is not, or is another frame's copy.
uint32_t hl_names_count(void);
bool hl_names_get(uint32_t i, struct hl_frame_name *to);

#endif
