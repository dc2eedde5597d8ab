#include "base/pages.h"

// The text of /proc/self/maps.
static char *text;
static size_t size, length;
static bool valid;

void hl_pages_forget(void) { valid = false; }

// read_all reads the mappings. It returns false if they do not fit.
static bool read_all(void) {
    long fd = hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, "/proc/thread-self/maps", HL_O_CLOEXEC, 0);
    if (fd < 0) return true;
    length = 0;
    for (long n; length < size - 1; length += (size_t)n) {
        n = hl_syscall3(HL_SYS_read, fd, text + length, size - 1 - length);
        if (n <= 0) break;
    }
    hl_syscall1(HL_SYS_close, fd);
    text[length] = 0;
    return length < size - 1;
}

static void load(void) {
    enum { FIRST = 256 << 10, MOST = 64 << 20 };
    valid = true;
    do {
        if (text) hl_pages_free(text, size);
        size = text ? size * 2 : FIRST;
        text = size <= MOST ? hl_pages_alloc(size) : NULL;
    } while (text && !read_all());
    if (!text) size = length = 0;
}

static void reload(void) {
    valid = true;
    if (!text || !read_all()) load();
}

static uintptr_t parse_hex(const char **s) {
    uintptr_t value = 0;
    for (;; ++*s) {
        char c = **s;
        if (c >= '0' && c <= '9')
            value = value * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return value;
    }
}

bool hl_page_is_read_only(uintptr_t address) {
    if (!valid) reload();
    for (const char *s = text, *end = text + length; s < end; s++) {
        uintptr_t from = parse_hex(&s), to;
        if (*s++ != '-') return false;
        to = parse_hex(&s);
        if (address >= from && address < to) return s[1] == 'r' && s[2] == '-';
        while (s < end && *s != '\n') s++;
    }
    return false;
}
