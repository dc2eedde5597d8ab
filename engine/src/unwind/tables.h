// The memory that large unwind tables take.
//
// A rule is read once and kept, but the kernel maps the 16 pages around each page that is read, so
// that the tables of a library with many functions become tens of MiB of the process's resident
// memory. The thread that writes snapshots releases these pages: the kernel has them in the file.
//
// A page that the process has changed would lose its contents. Programs that unpack themselves, or
// move their code to larger pages, have tables in such pages. So the thread first looks at what the
// kernel tells about the pages. No page is changed between that look and the release: tables are
// not written, and no code is unloaded meanwhile. Where dlclose is called without the engine, the
// first bytes of the table show whether it is still there.
#ifndef HL_UNWIND_TABLES_H
#define HL_UNWIND_TABLES_H

#include "unwind/fde.h"

// hl_tables_init is called once, before the other functions.
void hl_tables_init(void);

// hl_tables_used notes that the entry was read. It waits for no lock. The code that it describes
// must be on the stack of the calling thread. All signals must be blocked.
void hl_tables_used(const struct hl_fde *fde);

// hl_tables_release releases the pages that were read. It opens a file. All signals must be
// blocked.
void hl_tables_release(void);

// hl_tables_unloading is called before code is unloaded, and hl_tables_unloaded behind it: no pages
// are released meanwhile.
void hl_tables_unloading(void);
void hl_tables_unloaded(void);

// hl_tables_forget drops the notes.
void hl_tables_forget(void);

// hl_tables_forked is called in a forked child.
void hl_tables_forked(void);

#endif
