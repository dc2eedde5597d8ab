// Signals that end a program: SIGINT (^C) and SIGTERM. The engine takes a last snapshot and then
// does what the program has set: it calls the program's handler, or lets the kernel end the
// process. The signal that asks for a snapshot is handled in the same way. Programs do not notice,
// because sigaction and signal return what the program has set.
#ifndef HL_PROCESS_SIGNALS_H
#define HL_PROCESS_SIGNALS_H

#include "base/platform.h"

void hl_signals_init(void);

// hl_signals_forked is called in a forked child that is recorded.
void hl_signals_forked(void);

#endif
