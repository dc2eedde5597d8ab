// Package rss tells where the resident memory of a process is: blocks in use, free memory of allocators, stacks,
// files and other mappings.
//
// # What is counted
//
// Private memory without a file is that of a copy of the process, which does not run (package snapshot): its
// resident pages are listed by /proc/PID/pagemap, and each byte of them is in one [Part]. All other memory is
// counted by the kernel, in the field Rss of /proc/PID/smaps of the process. The sum of the parts is the
// resident memory. It differs from what the kernel says a moment later by the pages that come and go.
//
// Not part of it are memory in swap, huge pages of hugetlbfs, and pages of zeros that were only read: the kernel does
// not count them either. Before Linux 6.7 it does not tell which pages are these, and they are counted.
//
// # Free memory of malloc
//
// Free memory is divided by what can be done about it:
//
//   - Pages that malloc_trim(0) returns. It returns the whole pages of each free chunk in the bins, behind the first
//     48 bytes of the chunk, which have links, and the end of the main arena but for 33 bytes (mtrim and systrim in
//     malloc/malloc.c). It merges what is in fastbins before.
//   - The ends of other arenas, which it does not return.
//   - Free memory on pages of which less than a tenth is in use: the blocks in use hold the page. Nothing in
//     malloc can move them.
//   - The rest: gaps on pages that are well used.
//
// What is in the caches of threads is neither free for other threads nor returned.
package rss
