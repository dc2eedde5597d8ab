// The walk up the stack.
//
// A frame is left by the call frame information of its code. Code without it, such as what Node.js
// and other just-in-time compilers generate, is assumed to keep a frame pointer: the words at it
// are the frame pointer of the caller and the return address.
#include "unwind/cfi.h"
#include "unwind/fde.h"
#include "unwind/index.h"
#include "unwind/path.h"
#include "unwind/stack.h"
#include "unwind/thread.h"

// The engine's own addresses; defined by the linker.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

enum {
    // Frames are counted up to here; the outermost frames of a deeper stack are missing. It bounds
    // the time of a walk to about a millisecond.
    MAX_DEPTH = 16384,
};

// --- steps without call frame information ---

// signal_step continues where the signal interrupted the thread. The kernel's struct rt_sigframe is
// at the stack pointer.
static bool signal_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa) {
    uintptr_t sp = f->reg[HL_REG_SP];
    struct hl_frame caller = {.interrupted = true};
#if defined(__x86_64__)
    // struct ucontext: flags, link, stack (3 words); struct sigcontext: r8 to r15, rdi, rsi, rbp,
    // rbx, rdx, rax, rcx, rsp, rip.
    enum { REGISTERS = 40, RIP = 16 };
    static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
    uintptr_t at = sp + REGISTERS;
    for (unsigned i = 0; i < HL_LENGTH(order); i++) {
        uintptr_t value;
        if (!hl_load(stack, at + i * sizeof value, &value)) return false;
        hl_set_register(&caller, order[i], value);
    }
    if (!hl_load(stack, at + RIP * sizeof at, &caller.pc)) return false;
#elif defined(__aarch64__)
    // siginfo (128 bytes); struct ucontext: flags, link, stack, mask (with room: 128 bytes);
    // struct sigcontext, aligned to 16: fault address, x0 to x30, sp, pc.
    enum { REGISTERS = 128 + 168 + 8 + 8, PC = 32 };
    uintptr_t at = sp + REGISTERS;
    for (unsigned i = 0; i < HL_REGISTERS; i++) {
        uintptr_t value;
        if (!hl_load(stack, at + i * sizeof value, &value)) return false;
        hl_set_register(&caller, i, value);
    }
    if (!hl_load(stack, at + PC * sizeof at, &caller.pc)) return false;
#endif
    *f = caller;
    *cfa = caller.reg[HL_REG_SP];
    return true;
}

// pointer_step follows the frame pointer. If it does not point to a frame, there is no caller: code
// without call frame information is often that which starts a thread or a coroutine.
static enum hl_step pointer_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa) {
    enum { MAX_FRAME_SIZE = 1 << 20, RECORD = 2 * sizeof(uintptr_t) };
    uintptr_t sp = f->reg[HL_REG_SP], fp = f->reg[HL_REG_FP], next, pc;
    if (fp == 0) return HL_OUTERMOST;
    if (fp % sizeof fp != 0 || fp < sp || fp - sp > MAX_FRAME_SIZE || !hl_load(stack, fp, &next) ||
        !hl_load(stack, fp + sizeof fp, &pc))
        return HL_OUTERMOST;
    pc = hl_code_address(pc);
    if (pc == 0 || !hl_cfi_is_code(stack, pc)) return HL_OUTERMOST;
    f->pc = pc;
    f->interrupted = false;
    f->known = 0;
    hl_set_register(f, HL_REG_FP, next);
    hl_set_register(f, HL_REG_SP, fp + RECORD);
    *cfa = fp + RECORD;
    return HL_STEPPED;
}

// step replaces the frame by its caller.
static enum hl_step step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa,
                         struct hl_past *past) {
    enum hl_step result = hl_cfi_step(stack, f, cfa, past);
    if (result == HL_RESTORER) return signal_step(stack, f, cfa) ? HL_STEPPED : HL_FAILED;
    return result == HL_UNCOVERED ? pointer_step(stack, f, cfa) : result;
}

// --- the walk ---

static bool own(uintptr_t pc) {
    return pc - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

static void put(struct hl_stack *s, uint32_t i, uintptr_t pc, uintptr_t cfa) {
    uint32_t slot = hl_path_slot(i);
    s->pc[slot] = pc;
    s->cfa[slot] = cfa;
}

// finish completes the stack after the walk, and marks what is missing.
static void finish(struct hl_stack *s, uint32_t frames) {
    if (s->truncated) put(s, frames++, 0, UINTPTR_MAX);
    s->n = frames < HL_MAX_FRAMES ? frames : HL_MAX_FRAMES;
    s->mark = hl_path_order(s->pc, frames);
    hl_path_order(s->cfa, frames);
    if (s->mark != 0) s->pc[s->mark] = hl_path_mark("[recursion]", s->pc[s->mark]);
    if (s->truncated) s->pc[s->n - 1] = hl_path_mark("[truncated]", 0);
    if (s->n > 0 && s->pc[s->n - 1] == 0) s->n--; // no memory for the name
}

// A step is in one of two places. Those of the frames of 8 KiB of a stack never displace each
// other.
static struct hl_past *places_of(struct hl_stack *s, uintptr_t sp) {
    return s->past[(sp >> 4) % HL_PAST];
}

static void keep(struct hl_stack *s, const struct hl_past *past) {
    struct hl_past *places = places_of(s, past->sp);
    if (places[0].sp != past->sp) places[1] = places[0];
    places[0] = *past;
}

// repeat makes the steps that were made before, and returns the number of frames. Most samples of a
// thread have the outer frames of the one before.
static uint32_t repeat(struct hl_stack *s, const struct hl_window *stack, struct hl_frame *f,
                       uint32_t n) {
    uintptr_t pc = f->pc, sp = f->reg[HL_REG_SP], fp = f->reg[HL_REG_FP];
    const uintptr_t first = sp;
    while (n < HL_MAX_FRAMES) {
        const struct hl_past *p = places_of(s, sp);
        if (p->sp != sp) p++;
        if (p->pc != pc || p->sp != sp || (p->fp ^ fp) & p->fp_counts) break;
        if (!hl_within(stack, (uintptr_t)p->pc_at) || *p->pc_at != p->caller_pc) break;
        if (p->fp_at) {
            if (!hl_within(stack, (uintptr_t)p->fp_at)) break;
            fp = *p->fp_at;
        }
        sp = p->caller_sp;
        if (hl_likely(!own(pc))) {
            s->pc[n] = pc;
            s->cfa[n] = sp;
            n++;
        } else if (n == 0) {
            s->base = sp;
        }
        pc = hl_code_address(p->caller_pc);
    }
    if (sp == first) return n;
    f->pc = pc;
    f->known = 0;
    hl_set_register(f, HL_REG_SP, sp);
    hl_set_register(f, HL_REG_FP, fp);
    return n;
}

static void forget(struct hl_pieces *p) { p->of[0].at = p->of[1].at = 0; }

void hl_unwind(struct hl_stack *s) {
    struct hl_window stack;
    struct hl_frame *f = &s->from;
    struct hl_past past;
    stack = hl_thread_stack(f->reg[HL_REG_SP]);
    stack.pieces = s->pieces;
    forget(s->pieces);
    s->truncated = false;
    s->base = f->reg[HL_REG_SP];
    uint32_t generation = hl_tables_generation();
    if (s->generation != generation) {
        memset(s->past, 0, sizeof s->past);
        forget(&s->pieces[1]);
    }
    s->generation = generation;

    uint32_t n = repeat(s, &stack, f, 0);
    enum hl_step result = HL_STEPPED;
    for (int depth = 0; result == HL_STEPPED && f->pc != 0; depth++) {
        // Readers subtract one from an address, because it is behind a call.
        uintptr_t pc = f->interrupted ? f->pc + 1 : f->pc, cfa = f->reg[HL_REG_SP], sp = cfa;
        result = depth < MAX_DEPTH ? step(&stack, f, &cfa, &past) : HL_FAILED;
        if (!own(pc))
            put(s, n++, pc, cfa);
        else if (n == 0)
            s->base = cfa;
        // A step that moves neither the stack pointer nor the code address would be repeated.
        if (result == HL_STEPPED && cfa == sp && f->pc == pc) result = HL_FAILED;
        if (result == HL_STEPPED && past.pc != 0) {
            keep(s, &past);
            n = repeat(s, &stack, f, n);
        }
    }
    s->truncated = result == HL_FAILED;
    finish(s, n);
}

void hl_unwind_init(void) {
    hl_thread_stack_init();
    hl_unwind_table((uintptr_t)hl_unwind); // makes the index before there are samples
}

void hl_unwind_forget(void) {
    hl_tables_forget();
    hl_memory_forget();
}
