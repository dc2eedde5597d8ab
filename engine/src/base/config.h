// The settings of the engine, and what it knows about its process.
#ifndef HL_BASE_CONFIG_H
#define HL_BASE_CONFIG_H

#include "base/platform.h"

// enum hl_children is which processes besides the main program are recorded. The numbers are the
// same in internal/record/builtin.go.
enum hl_children {
    HL_MAIN_ONLY, // none
    HL_WORKERS,   // its forks, and processes that run the same file
    HL_ALL,
};

// struct hl_config is read from the variable HEAPLAPSE_ENGINE, such as
//
//	period=131072 every=500 part=250 alloc=0 inuse=0 signal=0 children=1 python=1 mmap=1
//	main=0000000 program=00000000000000000000000000000000
//	socket=heaplapse-1f0c… token=9be2… answer=07d1…
//	path=/tmp/heaplapse-1/socket
//
// in one line. The keys are separated by spaces, and unknown ones are ignored.
struct hl_config {
    uint64_t period;   // mean number of bytes between samples; 1: every allocation
    uint64_t every;    // interval of timed snapshots in ms; 0: none
    uint64_t part;     // a timed snapshot waits for 1/part of the time since the start; 0: does not
    uint64_t alloc;    // a snapshot after this number of bytes allocated; 0: none
    uint64_t inuse;    // a snapshot when the maximum of bytes in use has grown by this; 0: none
    uint64_t signal;   // number of the signal that asks for a snapshot; 0: none
    uint64_t children; // enum hl_children
    uint64_t python, mmap; // 0 or 1
    uint64_t patience;     // for which the program waits for the recorder at most, in ms
    uint64_t filters;      // seccomp filters of the recorder; UINT64_MAX: unknown
    // Digits in the environment, which the main program overwrites: its process number, and what
    // identifies its file (see process/target.h). NULL if the settings have none.
    char *main, *program;
    // The abstract Unix socket of the recorder, what it wants to hear, and what it answers. Empty
    // in a process that attach records.
    char socket[64], token[64], answer[64];
    char path[108]; // of the same socket, for other network namespaces
};
extern struct hl_config hl_config;

// hl_config_parse reads settings from a text, which must stay. hl_config_read reads the settings.
// It returns false if there are none or if they are wrong.
bool hl_config_read(void);
bool hl_config_parse(char *s);

struct hl_process {
    uint64_t pid;
    uint64_t parent;
    bool is_fork;       // forked from a recorded process, and has not called exec
    bool is_worker;     // not the main program: a fork of it, or another process of its file
    int64_t started;    // monotonic clock
    int64_t started_at; // real time
    uint64_t page_size;
    char libc[32]; // such as "glibc 2.36" or "musl"
};
extern struct hl_process hl_process;

#endif
