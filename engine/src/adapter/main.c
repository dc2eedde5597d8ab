// The adapter: a library that is preloaded behind a profiling allocator, gperftools' tcmalloc or
// jemalloc, whose snapshots it sends to the recorder.
//
// It puts functions of its own into the allocator's table of imports. The program and its other
// libraries are not affected. The allocator calls it with its locks held, so that it allocates
// nothing and waits for nothing but the channel.
//
// Sources: gperftools src/heap-profiler.cc (DumpProfileLocked, MaybeDumpProfileLocked),
// src/base/sysinfo.cc (GetUniquePathFromEnv); jemalloc src/prof_sys.c (prof_dump_filename,
// prof_backtrace, prof_mdump), src/malloc_io.c.
#include "adapter/dump.h"
#include "adapter/last.h"
#include "adapter/pipe.h"
#include "adapter/timer.h"
#include "base/config.h"
#include "base/entry.h"
#include "base/next.h"
#include "base/objects.h"
#include "base/slots.h"
#include "base/text.h"
#include "process/refuse.h"
#include "process/target.h"

long write(int fd, const void *data, size_t n);
long syscall(long number, ...);

#if defined(__x86_64__)
enum { SYS_WRITE = 1 };
#elif defined(__aarch64__)
enum { SYS_WRITE = 64 };
#endif

// --- messages ---

// is_chatter reports whether the allocator writes a message about its snapshots to standard error.
static bool is_chatter(long fd, const char *data, size_t n) {
    static const char *const texts[] = {
        "Using signal ",
        "Dumping heap profile to ",
        "Failed dumping heap profile to ",
        "Starting tracking the heap",
        "<jemalloc>: failed to ",
        "<jemalloc>: creat(",
        "<jemalloc>: write() failed",
    };
    for (size_t i = 0; fd == 2 && i < HL_LENGTH(texts); i++) {
        size_t length = hl_strlen(texts[i]);
        if (n >= length && memcmp(data, texts[i], length) == 0) return true;
    }
    return false;
}

static long adapter_write(int fd, const void *data, size_t n) {
    if (fd == HL_NO_FILE) return hl_pipe_write(data);
    if (is_chatter(fd, data, n) || hl_dump_write(fd, data, n)) return (long)n;
    return write(fd, data, n);
}

// Both allocators may write with syscall().
static long adapter_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_WRITE) return adapter_write((int)a, (const void *)b, (size_t)c);
    return syscall(number, a, b, c, d, e, f);
}

static int adapter_close(int fd) { return fd == HL_NO_FILE ? 0 : hl_dump_close(fd); }

// --- the table of imports ---

static struct hl_replacement imports[] = {
    {"open", HL_WHATEVER, (void *)hl_dump_open},
    {"open64", HL_WHATEVER, (void *)hl_dump_open},
    {"creat", HL_WHATEVER, (void *)hl_dump_creat},
    {"creat64", HL_WHATEVER, (void *)hl_dump_creat},
    {"close", HL_WHATEVER, (void *)adapter_close},
    {"write", HL_WHATEVER, (void *)adapter_write},
    {"syscall", HL_WHATEVER, (void *)adapter_syscall},
    {"time", HL_WHATEVER, (void *)hl_timer_time},
    {"signal", HL_WHATEVER, (void *)hl_last_signal},
    {"pipe2", HL_WHATEVER, (void *)hl_pipe_open},
    {"read", HL_WHATEVER, (void *)hl_pipe_read},
    {"_Unwind_Backtrace", NULL, NULL},
    {"unw_backtrace", NULL, NULL},
};

static bool contains(const char *s, const char *what) {
    for (; *s; s++)
        if (hl_has_prefix(s, what)) return true;
    return false;
}

// is_other_name reports whether an object is neither an allocator nor its unwinder.
static bool is_other_name(const char *name) {
    const char *base = hl_base_name(name);
    return !contains(base, "tcmalloc") && !contains(base, "jemalloc") &&
           !contains(base, "libunwind");
}

static bool is_other(const struct hl_object *o) { return is_other_name(o->name ? o->name : ""); }

static void replace(void) {
    static bool done;
    if (done) return;
    done = true;
    hl_timer_init();
    struct hl_replacement *backtrace = &imports[HL_LENGTH(imports) - 2];
    if (hl_timer_backtrace) backtrace[0].original = HL_WHATEVER;
    if (hl_timer_unw_backtrace) backtrace[1].original = HL_WHATEVER;
    backtrace[0].replacement = (void *)hl_timer_backtrace;
    backtrace[1].replacement = (void *)hl_timer_unw_backtrace;
    hl_slots_replace(imports, HL_LENGTH(imports), is_other);
}

// libunwind opens its pipe when it is called for the first time, which may be before the
// constructor below runs: libstdc++ allocates memory in its own. The program's pipes are not
// affected.
static bool is_unwinder(void *caller) {
    char name[500];
    return hl_object_name((uintptr_t)caller, name, sizeof name) && !is_other_name(name);
}

static bool started;

// is_silent reports whether the adapter must do nothing: nothing is recorded, or a filter may kill
// the process for its system calls.
static bool is_silent(void) {
    static enum { UNKNOWN, NO, YES } silent;
    if (silent == UNKNOWN) silent = !hl_config_read() || hl_refuse_is_filtered() ? YES : NO;
    return silent == YES;
}

HL_EXPORT int pipe2(int *ends, int flags) {
    void *caller = __builtin_return_address(0);
    if (!started && is_unwinder(caller) && !is_silent()) {
        replace();
        return hl_pipe_open(ends, flags);
    }
    int (*next)(int *, int) = (int (*)(int *, int))hl_next(HL_NEXT_pipe2);
    return next ? next(ends, flags) : hl_not_implemented();
}

// --- the start ---

__attribute__((constructor)) static void start(void) {
    started = true;
    if (is_silent()) return;
    hl_target_read();
    if (!hl_refuse_is_safe()) return;
    hl_dump_init();
    if (hl_target_claim()) hl_live_as(HL_RECORDING);
    replace();
}
