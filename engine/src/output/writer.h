// The writer: a thread of the engine that writes the snapshots.
//
// Programs must not notice it. It is created when it is needed first, blocks all signals, and has
// file descriptors and a working directory of its own, so that it never takes a number that the
// program expects for its next file, and never reaches the program's limit. It is not a thread of
// the C library: it shares the thread pointer of the thread that created it, and calls nothing of
// the C library. The kernel counts it, so it is ended before the program calls a function that
// needs a process with one thread, and before the program changes its user or its root.
//
// Where it cannot be created, the thread that wants a snapshot writes it.
#ifndef HL_OUTPUT_WRITER_H
#define HL_OUTPUT_WRITER_H

#include "output/snapshot.h"

// hl_writer_request asks for a snapshot and does not wait. All signals must be blocked.
void hl_writer_request(enum hl_trigger trigger);

// hl_writer_now asks for a snapshot and waits for it. All signals must be blocked.
void hl_writer_now(enum hl_trigger trigger);

// hl_writer_leave waits while the recorder looks at the memory, because exit handlers are about to
// run.
void hl_writer_leave(void);

// hl_writer_finish waits for the snapshots that were asked for. All signals must be blocked.
void hl_writer_finish(void);

// hl_writer_is_missing reports whether there are timed snapshots, but no writer that takes them.
bool hl_writer_is_missing(void);

// hl_writer_keep creates the writer for the timed snapshots, or takes one that is due. All signals
// must be blocked.
void hl_writer_keep(void);

// hl_writer_stop ends the writer and waits until the kernel does not count it any more. It is not
// created again for a time, in ns.
void hl_writer_stop(int64_t pause);

// hl_writer_share_files makes the writer use the program's file descriptors from now on. Where it
// has copies, closing that of a message queue would end the program's mq_notify.
void hl_writer_share_files(void);

// hl_writer_forked is called in a forked child, in which the writer does not exist.
void hl_writer_forked(void);

// hl_writer_restart is called before a recording that is not the first one of the process. The
// writer must have been stopped.
void hl_writer_restart(void);

#endif
