// Functions that need a process with one thread, or that change what a process may do.
#ifndef HL_PROCESS_SINGLE_H
#define HL_PROCESS_SINGLE_H

// hl_before_sandbox, if it is not NULL, is called before the program restricts its system calls.
extern void (*hl_before_sandbox)(void);

#endif
