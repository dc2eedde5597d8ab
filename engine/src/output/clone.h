// How a thread is created without the C library. Included by writer.c.
#ifndef HL_OUTPUT_CLONE_H
#define HL_OUTPUT_CLONE_H

#include "base/platform.h"

enum { HL_CLONE_FS = 0x200, HL_CLONE_FILES = 0x400 };

// hl_clone creates a thread that calls f on the given stack and ends when f returns. It stores the
// number of the thread in *id, and returns it or -errno.
static inline long hl_clone(void (*f)(void), void *stack_end, int32_t *id) {
    // As for a thread of the C library, without a thread pointer: CLONE_VM, CLONE_FS, CLONE_FILES,
    // CLONE_SIGHAND, CLONE_THREAD, CLONE_SYSVSEM, CLONE_PARENT_SETTID.
    long flags = 0x100 | HL_CLONE_FS | HL_CLONE_FILES | 0x800 | 0x10000 | 0x40000 | 0x100000;
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register void (*r9)(void) __asm__("r9") = f;
    __asm__ volatile("syscall\n\t"
                     "test %%eax, %%eax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r9\n\t"
                     "mov %[exit], %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n\t"
                     "1:"
                     : "=a"(result)
                     : "a"(HL_SYS_clone), "D"(flags), "S"(stack_end), "d"(id), "r"(r10), "r"(r8),
                       "r"(r9), [exit] "i"(HL_SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = HL_SYS_clone;
    register long x0 __asm__("x0") = flags;
    register void *x1 __asm__("x1") = stack_end;
    register int32_t *x2 __asm__("x2") = id;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register void (*x9)(void) __asm__("x9") = f;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "blr x9\n\t"
                     "mov x8, %[exit]\n\t"
                     "mov x0, xzr\n\t"
                     "svc 0\n\t"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), [exit] "i"(HL_SYS_exit)
                     : "memory");
    return x0;
#endif
}

#endif
