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

#define FUNCTION(body)                                                                             \
    __asm__(".text\n.hidden hl_stack_switch\n.globl hl_stack_switch\n"                             \
            ".type hl_stack_switch, %function\nhl_stack_switch:\n.cfi_startproc\n" body            \
            "ret\n.cfi_endproc\n.size hl_stack_switch, . - hl_stack_switch\n")
// clang-format off
#if defined(__x86_64__)
#define STORE(name, i) "mov %" name ", 16+8*" #i "(%rdi)\n"
FUNCTION("mov (%rsp), %rax\n" // the return address
         "mov %rax, (%rdi)\n"
         "lea 8(%rsp), %rax\n"
         STORE("rbx", 3) STORE("rbp", 6) STORE("rax", 7)
         STORE("r12", 12) STORE("r13", 13) STORE("r14", 14) STORE("r15", 15)
         "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
         "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
         "mov %rsi, %rsp\n"
         "mov %rcx, %rdi\n"
         "mov %r8, %rsi\n"
         "call *%rdx\n"
         "mov %rbp, %rsp\n"
         "pop %rbp\n.cfi_def_cfa %rsp, 8\n");
enum { KEPT = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12 };
#elif defined(__aarch64__)
#define STORE(name, next, i) "stp " name ", " next ", [x0, 16+8*" #i "]\n"
FUNCTION("mov x9, sp\n"
         "str x30, [x0]\n" // the return address
         STORE("x19", "x20", 19) STORE("x21", "x22", 21) STORE("x23", "x24", 23)
         STORE("x25", "x26", 25) STORE("x27", "x28", 27)
         "str x29, [x0, 16+8*29]\n"
         "str x9, [x0, 16+8*31]\n"
         "stp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
         "mov x29, sp\n.cfi_def_cfa_register x29\n"
         "mov sp, x1\n"
         "mov x0, x3\n"
         "mov x1, x4\n"
         "blr x2\n"
         "mov sp, x29\n"
         "ldp x29, x30, [sp], 16\n.cfi_def_cfa sp, 0\n");
#define KEPT (UINT32_C(0x7ff) << 19 | UINT32_C(1) << 31)
#endif
// clang-format on
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
