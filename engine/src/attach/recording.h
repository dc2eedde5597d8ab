// The beginning and the end of a recording in a process that runs.
#ifndef HL_ATTACH_RECORDING_H
#define HL_ATTACH_RECORDING_H

#include "attach/control.h"

// hl_attach_begin begins a recording with the given settings. It returns NULL, or the reason why it
// did not: nothing is replaced then. It may be called again after hl_attach_end.
const char *hl_attach_begin(struct hl_control *c, char *settings);

// hl_attach_python puts the engine before CPython's allocator. It waits for the interpreter's lock.
void hl_attach_python(struct hl_control *c);

// hl_attach_look replaces the functions in objects that were loaded since the last call, if there
// are any.
void hl_attach_look(struct hl_control *c);

// hl_attach_end ends the recording and puts all functions back. python is false if the
// interpreter's lock must not be waited for.
void hl_attach_end(struct hl_control *c, bool python);

#endif
