// The last snapshot, before a signal ends the program: gperftools has a function that takes one,
// which it installs as the handler of a signal.
#ifndef HL_ADAPTER_LAST_H
#define HL_ADAPTER_LAST_H

// hl_last_signal is what the allocator calls instead of signal.
void (*hl_last_signal(int sig, void (*handler)(int)))(int);

#endif
