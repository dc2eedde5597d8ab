#include "heap/operators.h"

#include "base/objects.h"
#include "heap/libc.h"
#include "heap/record.h"

// All operators have at most three arguments, which are numbers or pointers.
typedef void *(*function)(uintptr_t, uintptr_t, uintptr_t);

enum { OPERATORS = 20 };
static struct hl_replacement operators[OPERATORS]; // below
static uintptr_t list;                             // of objects, when the slots were replaced
static bool replaced;

static void *call(int i, uintptr_t a, uintptr_t b, uintptr_t c) {
    return ((function)operators[i].original)(a, b, c);
}

// Operators new have the size as their first argument, operators delete the address.
#define NEW(i)                                                                                     \
    static void *new_##i(uintptr_t size, uintptr_t b, uintptr_t c) {                               \
        return hl_note(call(i, size, b, c), size);                                                 \
    }
#define DROP(i)                                                                                    \
    static void *delete_##i(uintptr_t p, uintptr_t b, uintptr_t c) {                               \
        hl_forget((void *)p);                                                                      \
        return call(i, p, b, c);                                                                   \
    }
NEW(0)
NEW(1)
NEW(2)
NEW(3)
NEW(4)
NEW(5)
NEW(6)
NEW(7)
DROP(8)
DROP(9)
DROP(10)
DROP(11)
DROP(12)
DROP(13)
DROP(14)
DROP(15)
DROP(16)
DROP(17)
DROP(18)
DROP(19)

static struct hl_replacement operators[OPERATORS] = {
    {"_Znwm", NULL, new_0},
    {"_Znam", NULL, new_1},
    {"_ZnwmRKSt9nothrow_t", NULL, new_2},
    {"_ZnamRKSt9nothrow_t", NULL, new_3},
    {"_ZnwmSt11align_val_t", NULL, new_4},
    {"_ZnamSt11align_val_t", NULL, new_5},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", NULL, new_6},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", NULL, new_7},
    {"_ZdlPv", NULL, delete_8},
    {"_ZdaPv", NULL, delete_9},
    {"_ZdlPvm", NULL, delete_10},
    {"_ZdaPvm", NULL, delete_11},
    {"_ZdlPvRKSt9nothrow_t", NULL, delete_12},
    {"_ZdaPvRKSt9nothrow_t", NULL, delete_13},
    {"_ZdlPvSt11align_val_t", NULL, delete_14},
    {"_ZdaPvSt11align_val_t", NULL, delete_15},
    {"_ZdlPvmSt11align_val_t", NULL, delete_16},
    {"_ZdaPvmSt11align_val_t", NULL, delete_17},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", NULL, delete_18},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", NULL, delete_19},
};

enum { NEWS = 8, PLAIN_NEW = 0, ALIGNED_NEW = 4, DELETE = 8, ALIGNED_DELETE = 14 };

// find stores the operators that the allocator defines, if the program's calls reach them. It
// reports whether there are any.
static bool find(void) {
    struct hl_symbol s[OPERATORS];
    for (size_t i = 0; i < OPERATORS; i++) s[i].name = operators[i].name;
    hl_find(s, OPERATORS);
    for (size_t i = 0; i < OPERATORS; i++)
        if (s[i].address && s[i].object.start == hl_allocator_start)
            operators[i].original = s[i].address;
    return operators[PLAIN_NEW].original && operators[DELETE].original;
}

// calls_malloc reports whether an operator new calls malloc or another function that records the
// allocation.
static bool calls_malloc(int i) {
    enum { SIZE = 64, ALIGNMENT = 64 };
    static const char nothrow;
    bool aligned = i >= ALIGNED_NEW;
    int delete = aligned && operators[ALIGNED_DELETE].original ? ALIGNED_DELETE : DELETE;
    if (!hl_enter()) return true;
    uint64_t left = hl_thread_self()->left;
    void *p = call(i, SIZE, aligned ? ALIGNMENT : (uintptr_t)&nothrow, (uintptr_t)&nothrow);
    bool calls = hl_thread_self()->left != left;
    call(delete, (uintptr_t)p, aligned ? ALIGNMENT : SIZE, ALIGNMENT);
    hl_leave();
    return calls;
}

const struct hl_replacement *hl_operators_replaceable(size_t *n) {
    *n = find() ? OPERATORS : 0;
    for (int i = 0; *n > 0 && i < NEWS; i++)
        if (operators[i].original && calls_malloc(i)) operators[i].original = NULL;
    return operators;
}

// defines_them reports whether an object is that of the operators, whose calls of each other are
// not replaced.
static bool defines_them(const struct hl_object *o) {
    return hl_object_contains(o, (uintptr_t)operators[DELETE].original);
}

static void replace(void) {
    uintptr_t now = hl_module_list();
    if (!hl_slots_replace(operators, OPERATORS, defines_them).busy) list = now;
}

void hl_operators_init(void) {
    size_t n;
    hl_operators_replaceable(&n);
    if (n == 0) return;
    replace();
    replaced = true;
}

void hl_operators_poll(void) {
    enum { SELDOM = 32 }; // samples: reading the list takes a system call for each object
    static uint32_t samples;
    if (!replaced || __atomic_add_fetch(&samples, 1, __ATOMIC_RELAXED) % SELDOM != 0) return;
    if (!hl_enter()) return;
    if (hl_module_list() != list) replace();
    hl_leave();
}
