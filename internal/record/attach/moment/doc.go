// Package moment decides whether a stopped thread may call pthread_create now.
//
// The thread must hold no lock that pthread_create takes, directly or by the allocator and the
// dynamic linker, and no memory of it may be in the middle of a change. That is so if no frame of its
// stack is in the allocator, the dynamic linker, fork or the thread library, if no signal handler is
// on the stack, and if the thread is outside of the C library or in a system call of it that is made
// without locks. A moment that cannot be shown to be safe is not: the caller tries again later.
package moment
