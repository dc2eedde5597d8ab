// Signals that end a program: SIGINT (^C) and SIGTERM. The engine takes a last snapshot and then
// does what the program has set: it calls the program's handler, or lets the kernel end the
// process. The signal that asks for a snapshot is handled in the same way. Programs do not notice,
// because sigaction and signal return what the program has set.
#ifndef HL_PROCESS_SIGNALS_H
#define HL_PROCESS_SIGNALS_H

#include "base/platform.h"

// This type is the same in glibc and musl, and on both processors.
struct hl_siginfo {
    int signo, error, code, pad, pid;
};

struct hl_signal_hooks {
    // last takes the last snapshot. ends tells that the signal will end the process. last returns
    // false if the signal must have no effect yet: it has been sent again.
    bool (*last)(int sig, const struct hl_siginfo *info, bool ends);
    // manual takes a snapshot because hl_config.signal asks for one.
    void (*manual)(void);
};

// hl_signals_init begins to handle the signals. hl_signals_end sets what the program has set, for
// good.
void hl_signals_init(const struct hl_signal_hooks *hooks);
void hl_signals_end(void);

// hl_signals_deserve reports whether a snapshot should be taken before the signal is handled. A
// process that sends the signal to itself has often freed its memory before.
bool hl_signals_deserve(const struct hl_siginfo *info);

// hl_signals_forked is called in a forked child.
void hl_signals_forked(void);

#endif
