#include "unwind/stack.h"

// A thread holds a buffer for some microseconds. It takes the same one each time, if that is free,
// so that processors do not exchange them.
enum { BUFFERS = 32, SIZE = 32 << 10, TRIES = 1000 * BUFFERS };
static struct buffer {
    struct hl_stack path;
    char stack[SIZE] __attribute__((aligned(64)));
    bool taken;
} buffers[BUFFERS];

// hl_stack_switch stores the frame of its caller, and calls f(s, context) on another stack.
void hl_stack_switch(struct hl_frame *from, void *stack_end,
                     void (*f)(struct hl_stack *s, void *context), struct hl_stack *s,
                     void *context);

#define REGISTER(i) "16+8*" #i
#if defined(__x86_64__)
__asm__(".text\n"
        ".hidden hl_stack_switch\n"
        ".globl hl_stack_switch\n"
        ".type hl_stack_switch, @function\n"
        "hl_stack_switch:\n"
        ".cfi_startproc\n"
        "mov (%rsp), %rax\n"
        "mov %rax, (%rdi)\n"
        "lea 8(%rsp), %rax\n"
        "mov %rbx, " REGISTER(
            3) "(%rdi)\n"
               "mov %rbp, " REGISTER(
                   6) "(%rdi)\n"
                      "mov %rax, " REGISTER(
                          7) "(%rdi)\n"
                             "mov %r12, " REGISTER(
                                 12) "(%rdi)\n"
                                     "mov %r13, " REGISTER(
                                         13) "(%rdi)\n"
                                             "mov %r14, " REGISTER(
                                                 14) "(%rdi)\n"
                                                     "mov %r15, " REGISTER(
                                                         15) "(%rdi)\n"
                                                             "push %rbp\n"
                                                             ".cfi_def_cfa_offset 16\n"
                                                             ".cfi_offset %rbp, -16\n"
                                                             "mov %rsp, %rbp\n"
                                                             ".cfi_def_cfa_register %rbp\n"
                                                             "mov %rsi, %rsp\n"
                                                             "mov %rcx, %rdi\n"
                                                             "mov %r8, %rsi\n"
                                                             "call *%rdx\n"
                                                             "mov %rbp, %rsp\n"
                                                             "pop %rbp\n"
                                                             ".cfi_def_cfa %rsp, 8\n"
                                                             "ret\n"
                                                             ".cfi_endproc\n"
                                                             ".size hl_stack_switch, . - "
                                                             "hl_stack_switch\n");
enum { KEPT = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12 };
#elif defined(__aarch64__)
__asm__(".text\n"
        ".hidden hl_stack_switch\n"
        ".globl hl_stack_switch\n"
        ".type hl_stack_switch, %function\n"
        "hl_stack_switch:\n"
        ".cfi_startproc\n"
        "mov x9, sp\n"
        "str x30, [x0]\n"
        "stp x19, x20, [x0, " REGISTER(
            19) "]\n"
                "stp x21, x22, [x0, " REGISTER(
                    21) "]\n"
                        "stp x23, x24, [x0, " REGISTER(
                            23) "]\n"
                                "stp x25, x26, [x0, " REGISTER(
                                    25) "]\n"
                                        "stp x27, x28, [x0, " REGISTER(
                                            27) "]\n"
                                                "str x29, [x0, " REGISTER(
                                                    29) "]\n"
                                                        "str x9, [x0, " REGISTER(
                                                            31) "]\n"
                                                                "stp x29, x30, [sp, -16]!\n"
                                                                ".cfi_def_cfa_offset 16\n"
                                                                ".cfi_offset x29, -16\n"
                                                                ".cfi_offset x30, -8\n"
                                                                "mov x29, sp\n"
                                                                ".cfi_def_cfa_register x29\n"
                                                                "mov sp, x1\n"
                                                                "mov x0, x3\n"
                                                                "mov x1, x4\n"
                                                                "blr x2\n"
                                                                "mov sp, x29\n"
                                                                "ldp x29, x30, [sp], 16\n"
                                                                ".cfi_def_cfa sp, 0\n"
                                                                "ret\n"
                                                                ".cfi_endproc\n"
                                                                ".size hl_stack_switch, . - "
                                                                "hl_stack_switch\n");
#define KEPT (UINT32_C(0x7ff) << 19 | UINT32_C(1) << 31)
#endif
_Static_assert(offsetof(struct hl_frame, reg) == 16, "as in hl_stack_switch");

static struct buffer *take(void) {
    size_t own = hl_thread_pointer() * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    for (size_t i = 0; i < TRIES; i++) {
        struct buffer *b = &buffers[(own + i) % BUFFERS];
        if (!__atomic_exchange_n(&b->taken, true, __ATOMIC_ACQUIRE)) return b;
        if (i % BUFFERS == BUFFERS - 1) hl_syscall0(HL_SYS_sched_yield);
    }
    return NULL;
}

bool hl_stack_use(void (*f)(struct hl_stack *s, void *context), void *context) {
    struct buffer *b = take();
    if (!b) return false;
    b->path.from.known = KEPT;
    b->path.from.interrupted = false;
    hl_stack_switch(&b->path.from, b->stack + SIZE, f, &b->path, context);
    __atomic_store_n(&b->taken, false, __ATOMIC_RELEASE);
    return true;
}

void hl_stacks_forked(void) {
    for (size_t i = 0; i < BUFFERS; i++) buffers[i].taken = false;
}
