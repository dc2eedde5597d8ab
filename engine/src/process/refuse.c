#include "process/refuse.h"

#include "base/config.h"
#include "base/files.h"
#include "base/objects.h"
#include "base/text.h"

struct auxiliary {
    uint64_t type, value;
};

bool hl_refuse_is_safe(void) {
    enum { AT_PAGESZ = 6, AT_SECURE = 23 };
    static struct auxiliary vector[64];
    long n = hl_file_read("/proc/self/auxv", (char *)vector, sizeof vector);
    bool secure = false;
    hl_process.page_size = 4096;
    for (long i = 0; (i + 1) * (long)sizeof *vector <= n; i++) {
        if (vector[i].type == AT_PAGESZ) hl_process.page_size = vector[i].value;
        if (vector[i].type == AT_SECURE) secure = vector[i].value != 0;
    }
    return !secure;
}

// field returns the number behind a name in a text like /proc/PID/status, or otherwise.
static uint64_t field(const char *text, const char *name, uint64_t otherwise) {
    for (const char *s = text; *s; s++) {
        if ((s != text && s[-1] != '\n') || !hl_has_prefix(s, name)) continue;
        uint64_t value;
        for (s += hl_strlen(name); *s == '\t' || *s == ' ';) s++;
        return hl_parse_number(&s, &value) ? value : otherwise;
    }
    return otherwise;
}

bool hl_refuse_is_filtered(void) {
    static char text[8192];
    if (hl_config.filters == UINT64_MAX) return false;
    if (hl_file_read("/proc/self/status", text, sizeof text) <= 0) return false;
    uint64_t mode = field(text, "Seccomp:", 0);
    // Linux has the number of filters from 5.9 on.
    return field(text, "Seccomp_filters:", mode != 0) > hl_config.filters;
}

static bool is_sanitized(struct hl_text *why) {
    struct hl_symbol s[] = {
        {.name = "__asan_init"}, {.name = "__hwasan_init"}, {.name = "__lsan_init"},
        {.name = "__msan_init"}, {.name = "__tsan_init"},
    };
    hl_find(s, HL_LENGTH(s));
    for (size_t i = 0; i < HL_LENGTH(s); i++) {
        if (!s[i].address) continue;
        hl_put_string(why, "the program is built with a sanitizer, which has its own allocator");
        return true;
    }
    return false;
}

// is_in_valgrind reports whether the program runs under Valgrind, which would count what the engine
// does as the program's. The function is in a library that it preloads.
static bool is_in_valgrind(struct hl_text *why) {
    struct hl_symbol s = {.name = "_vgnU_freeres"};
    hl_find(&s, 1);
    if (s.address)
        hl_put_string(why, "the program runs under Valgrind, which has its own allocator");
    return s.address != NULL;
}

// The names of allocators, by a function that they define.
static const struct {
    const char *symbol, *name;
} allocators[] = {
    {"tc_malloc", "tcmalloc"},     {"MallocExtension_Internal_GetStatsInPbtxt", "tcmalloc"},
    {"mallocx", "jemalloc"},       {"je_mallocx", "jemalloc"},
    {"mi_malloc", "mimalloc"},     {"rpmalloc", "rpmalloc"},
    {"sn_rust_alloc", "snmalloc"}, {"scalable_malloc", "TBB malloc"},
};

static const char *allocator_in(uintptr_t start, uintptr_t end) {
    for (size_t i = 0; i < HL_LENGTH(allocators); i++) {
        struct hl_symbol s = {.name = allocators[i].symbol};
        hl_find(&s, 1);
        if (s.address && (uintptr_t)s.address >= start && (uintptr_t)s.address < end)
            return allocators[i].name;
    }
    return NULL;
}

// has_own_malloc reports whether the program's calls of malloc reach another definition before the
// engine's.
static bool has_own_malloc(struct hl_text *why) {
    struct hl_symbol s = {.name = "malloc"};
    static char object[160];
    hl_find(&s, 1);
    if (!s.address || s.object.is_engine) return false;
    const char *name = allocator_in(s.object.start, s.object.end);
    if (s.object.is_program || !hl_object_name((uintptr_t)s.address, object, sizeof object))
        hl_put_string(why, "the program defines malloc itself");
    else
        hl_format(why, "%s, which is loaded first, defines malloc", object);
    if (name) hl_format(why, " (%s)", name);
    return true;
}

// is_memory_short reports whether the program's limit of address space leaves little room.
static bool is_memory_short(struct hl_text *why) {
    enum { RLIMIT_AS = 9, NEEDED = 64 << 20 };
    struct {
        uint64_t current, maximum;
    } limit = {UINT64_MAX, UINT64_MAX};
    char text[64];
    const char *s = text;
    uint64_t pages;
    hl_syscall4(HL_SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit);
    if (limit.current == UINT64_MAX || hl_file_read("/proc/self/statm", text, sizeof text) <= 0)
        return false;
    if (!hl_parse_number(&s, &pages) || pages * hl_process.page_size + NEEDED < limit.current)
        return false;
    hl_put_string(why, "the limit of address space (ulimit -v) leaves less than 64 MiB");
    return true;
}

bool hl_refuse(char *why, size_t size) {
    struct hl_text t = hl_text(why, size);
    bool refused = is_in_valgrind(&t) || (!hl_loaded_late && has_own_malloc(&t)) ||
                   is_sanitized(&t) || is_memory_short(&t);
    hl_put_end(&t);
    return refused;
}
