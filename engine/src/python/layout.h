// Where CPython's data structures have the fields that the engine reads.
#ifndef HL_PYTHON_LAYOUT_H
#define HL_PYTHON_LAYOUT_H

#include "base/platform.h"

enum { HL_PYTHON_OLDEST = 8, HL_PYTHON_NEWEST = 14 }; // 3.8 to 3.14

enum { HL_ABSENT = -1 };

// struct hl_layout has offsets in bytes.
struct hl_layout {
    int minor;
    int16_t finalizing; // of _PyRuntime: the thread that finalizes the interpreter, or 0
    struct {
        int16_t frame;      // the innermost frame; HL_ABSENT if the activation has it
        int16_t activation; // the record of the innermost activation of the loop, on the C stack
        int16_t thread_id;
    } thread;
    struct {
        int16_t frame, previous;
    } activation;
    struct {
        int16_t code, previous, instruction, owner, is_entry;
    } frame;
    struct {
        int16_t filename, name, first_line, lines;
        int16_t instructions; // HL_ABSENT: frames have a number instead of an address
    } code;
    struct {
        int16_t type;
    } object;
    struct {
        int16_t length, state, ascii, compact; // ascii and compact: where the characters are
    } string;
};

// hl_layout_of returns the layout of CPython 3.minor, whose _PyRuntime is at runtime. If it is not
// known, *reason is set, such as "is a free-threaded build".
bool hl_layout_of(int minor, const void *runtime, struct hl_layout *layout, const char **reason);

#endif
