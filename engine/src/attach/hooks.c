#include "attach/hooks.h"

#include "base/next.h"
#include "base/objects.h"
#include "heap/libc.h"
#include "heap/old.h"
#include "heap/operators.h"
#include "heap/record.h"

// Defined by HL_HOOK in the files that have the functions.
void hl_hook_malloc(void);
void hl_hook_free(void);
void hl_hook_calloc(void);
void hl_hook_realloc(void);
void hl_hook_reallocarray(void);
void hl_hook_posix_memalign(void);
void hl_hook_aligned_alloc(void);
void hl_hook_memalign(void);
void hl_hook_valloc(void);
void hl_hook_pvalloc(void);
void hl_hook_mmap(void);
void hl_hook_munmap(void);
void hl_hook_mremap(void);
void hl_hook_dlclose(void);
void hl_hook_chroot(void);
void hl_hook_setuid(void);
void hl_hook_setgid(void);
void hl_hook_seteuid(void);
void hl_hook_setegid(void);
void hl_hook_setreuid(void);
void hl_hook_setregid(void);
void hl_hook_setresuid(void);
void hl_hook_setresgid(void);
void hl_hook_setgroups(void);
void hl_hook_initgroups(void);
void hl_hook_capset(void);
void hl_hook_mq_notify(void);
void hl_hook_prctl(void);
void hl_hook_syscall(void);

#define HOOK(name) {#name, NULL, (void *)hl_hook_##name}
// MALLOC is the first of the functions that must be those of one object: the allocator.
enum { MALLOC, FREE, CALLOC, REALLOC, ALLOCATOR = 10 };
static struct hl_replacement functions[] = {
    HOOK(malloc),        HOOK(free),         HOOK(calloc),
    HOOK(realloc),       HOOK(reallocarray), HOOK(posix_memalign),
    HOOK(aligned_alloc), HOOK(memalign),     HOOK(valloc),
    HOOK(pvalloc),       HOOK(mmap),         {"mmap64", NULL, (void *)hl_hook_mmap},
    HOOK(munmap),        HOOK(mremap),       HOOK(dlclose),
    HOOK(chroot),        HOOK(setuid),       HOOK(setgid),
    HOOK(seteuid),       HOOK(setegid),      HOOK(setreuid),
    HOOK(setregid),      HOOK(setresuid),    HOOK(setresgid),
    HOOK(setgroups),     HOOK(initgroups),   HOOK(capset),
    HOOK(mq_notify),     HOOK(prctl),        HOOK(syscall),
};
static const struct hl_replacement *operators;
static size_t operators_n;

static const char *find_functions(void) {
    struct hl_symbol s[HL_LENGTH(functions)];
    for (size_t i = 0; i < HL_LENGTH(s); i++) s[i] = (struct hl_symbol){.name = functions[i].name};
    hl_find_following(s, HL_LENGTH(s));
    for (size_t i = MALLOC; i <= REALLOC; i++)
        if (!s[i].address) return "the program has no malloc in a shared library";
    if (s[MALLOC].object.is_program)
        return "the program defines malloc itself, and calls it without a table of imports";
    for (size_t i = 0; i < HL_LENGTH(s); i++) functions[i].original = s[i].address;
    return NULL;
}

// find_old finds out how the sizes of blocks from before are measured.
static void find_old(void) {
    enum { PERIODS = 16 };
    struct hl_symbol s = {.name = "malloc_usable_size"};
    hl_find_following(&s, 1);
    bool same = s.address && s.object.start == hl_allocator_start;
    hl_old_usable = same ? (size_t (*)(void *))s.address : NULL;
    hl_old_least = hl_period * PERIODS;
}

const char *hl_hooked_find(struct hl_control *c) {
    const char *reason = find_functions();
    if (reason) return reason;
    hl_real_find();
    hl_next_find();
    find_old();
    c->malloc_original = (uintptr_t)functions[MALLOC].original;
    c->malloc_hook = (uintptr_t)functions[MALLOC].replacement;
    c->calloc_original = (uintptr_t)functions[CALLOC].original;
    c->calloc_hook = (uintptr_t)functions[CALLOC].replacement;
    c->realloc_original = (uintptr_t)functions[REALLOC].original;
    c->realloc_hook = (uintptr_t)functions[REALLOC].replacement;
    hl_slots_replace(functions, ALLOCATOR, NULL);
    // The next two find out which functions of the allocator call others of it through the tables.
    hl_interpose_init();
    operators = hl_operators_replaceable(&operators_n);
    return NULL;
}

static struct hl_slots sum(struct hl_slots a, struct hl_slots b) {
    a.replaced += b.replaced;
    a.foreign += b.foreign;
    a.pending += b.pending;
    return a;
}

struct hl_slots hl_hooked_replace(void) {
    struct hl_slots s = hl_slots_replace(functions, HL_LENGTH(functions), NULL);
    return operators_n ? sum(s, hl_slots_replace(operators, operators_n, NULL)) : s;
}

struct hl_slots hl_hooked_restore(void) {
    struct hl_slots s = hl_slots_restore(functions, HL_LENGTH(functions));
    return operators_n ? sum(s, hl_slots_restore(operators, operators_n)) : s;
}
