// Package roots lists the memory of a process from which the program reaches its blocks: global variables,
// thread-local variables, stacks and registers, what the kernel keeps for it, and memory of unknown content.
//
// Each word of the process is in a block, in a root, or in memory that belongs to the allocator: nothing is
// left out. The order of the kinds is that in which they are followed, but for some that are followed together. A
// stack is read from the stack pointer on, with the 128 bytes below it that a function may use; what lies below was
// left by functions that have returned, and is doubtful.
//
// What the C library keeps for a thread is read from its descriptor (struct pthread), of glibc or of musl.
package roots
