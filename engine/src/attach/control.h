// What the helper shares with heaplapse, which finds it by its symbol, and reads and writes it from
// outside. The layout is the same in internal/record/attach/control.go.
#ifndef HL_ATTACH_CONTROL_H
#define HL_ATTACH_CONTROL_H

#include "base/platform.h"

enum hl_state {
    HL_HELPER_NEVER = 0,     // no helper has begun, or heaplapse lets the next one begin
    HL_HELPER_STARTING = 1,  // the helper prepares the recording
    HL_HELPER_RECORDING = 2, // allocations are recorded, and commands are obeyed
    HL_HELPER_STOPPING = 3,  // the functions are being put back
    HL_HELPER_STOPPED =
        4, // nothing is recorded, all functions are put back, and the helper has ended
    HL_HELPER_REFUSED = 5, // as HL_HELPER_STOPPED; reason says why recording did not begin
};

enum hl_command { HL_NOTHING = 0, HL_SNAPSHOT = 1, HL_STOP = 2, HL_UNMAP = 3 };

struct hl_control {
    char magic[16];
    uint32_t version;
    uint32_t state;
    uint32_t command;  // an enum hl_command in the lowest 4 bits, a number that changes above them
    uint32_t answer;   // the last command that was obeyed
    uint64_t beat;     // heaplapse changes it every second
    uint32_t helper;   // number of the thread, as the process sees it
    uint32_t objects;  // objects whose tables were read last
    uint32_t replaced; // slots that call the engine
    uint32_t foreign;  // slots of the same functions that call something else
    uint32_t left;     // slots that still call the engine after it has stopped
    uint32_t python;   // CPython's allocator: 0 not hooked, 1 hooked, 2 could not be put back
    uint32_t ended;    // how the recording ended: 0 command, 1 heaplapse is gone, 2 the program
                       // restricts itself
    uint32_t channel;  // the file descriptor of the channel's memory plus one; 0: none
    uint32_t prepared; // heaplapse sets it to channel when the memory can be used
    uint32_t newest;   // number of the last helper: one that was created before does not begin
    uintptr_t malloc_original, malloc_hook;
    uintptr_t calloc_original, calloc_hook;
    uintptr_t realloc_original, realloc_hook;
    char reason[256];
};

// struct hl_boot is what heaplapse gives to the helper.
struct hl_boot {
    uint64_t scratch, scratch_size; // memory that the helper unmaps when it is told to; 0: none
    uint64_t number;                // of the helper
    char settings[3584];            // as in HEAPLAPSE_ENGINE
};

#endif
