#include "base/text.h"

#include <stdarg.h>

struct hl_text hl_text(char *buffer, size_t size) {
    return (struct hl_text){buffer, buffer + size, false};
}

void hl_put(struct hl_text *t, const char *s, size_t n) {
    size_t room = (size_t)(t->end - t->at);
    if (n > room) {
        n = room;
        t->overflow = true;
    }
    memcpy(t->at, s, n);
    t->at += n;
}

void hl_put_string(struct hl_text *t, const char *s) { hl_put(t, s, hl_strlen(s)); }

static void put_base(struct hl_text *t, uint64_t v, unsigned base, int min_digits) {
    char digits[24];
    char *end = digits + sizeof digits, *at = end;
    for (; v > 0 || end - at < min_digits || at == end; v /= base)
        *--at = "0123456789abcdef"[v % base];
    hl_put(t, at, (size_t)(end - at));
}

void hl_put_number(struct hl_text *t, uint64_t v, int min_digits) {
    put_base(t, v, 10, min_digits);
}

void hl_put_hex(struct hl_text *t, uint64_t v) { put_base(t, v, 16, 1); }

// utf8_length returns the length of the valid UTF-8 sequence at s, or 0.
static size_t utf8_length(const unsigned char *s, size_t n) {
    unsigned c = s[0];
    size_t length = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0x80) return 1;
    if (c < 0xc2 || c > 0xf4 || n < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    bool overlong = (c == 0xe0 && s[1] < 0xa0) || (c == 0xf0 && s[1] < 0x90);
    bool outside = (c == 0xed && s[1] > 0x9f) || (c == 0xf4 && s[1] > 0x8f);
    return overlong || outside ? 0 : length;
}

static void put_escape(struct hl_text *t, unsigned c) {
    hl_put_string(t, "\\u00");
    put_base(t, c, 16, 2);
}

void hl_put_json(struct hl_text *t, const char *s, size_t n) {
    while (n > 0) {
        size_t length = utf8_length((const unsigned char *)s, n);
        if (length == 0)
            hl_put_string(t, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            hl_put(t, (char[]){'\\', *s}, 2);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            put_escape(t, (unsigned char)*s);
        else
            hl_put(t, s, length);
        if (length == 0) length = 1;
        s += length;
        n -= length;
    }
}

static void put_signed(struct hl_text *t, int64_t v) {
    if (v < 0) hl_put(t, "-", 1);
    hl_put_number(t, v < 0 ? -(uint64_t)v : (uint64_t)v, 1);
}

void hl_format(struct hl_text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (const char *f = format; *f; f++) {
        const char *s;
        if (*f != '%') {
            hl_put(t, f, 1);
            continue;
        }
        switch (*++f) {
        case 's': hl_put_string(t, va_arg(arguments, const char *)); break;
        case 'j': s = va_arg(arguments, const char *), hl_put_json(t, s, hl_strlen(s)); break;
        case 'u': hl_put_number(t, va_arg(arguments, uint64_t), 1); break;
        case '4': hl_put_number(t, va_arg(arguments, uint64_t), 4); break;
        case 'd': put_signed(t, va_arg(arguments, int64_t)); break;
        case 'x': hl_put_hex(t, va_arg(arguments, uint64_t)); break;
        default: hl_put(t, f, 1);
        }
    }
    va_end(arguments);
}

bool hl_put_end(struct hl_text *t) {
    if (t->at == t->end) {
        t->overflow = true;
        t->at--;
    }
    *t->at = 0;
    return !t->overflow;
}

bool hl_parse_number(const char **s, uint64_t *v) {
    const char *start = *s;
    *v = 0;
    for (; **s >= '0' && **s <= '9'; ++*s)
        if (__builtin_mul_overflow(*v, 10, v) ||
            __builtin_add_overflow(*v, (uint64_t)(**s - '0'), v))
            return false;
    return *s != start;
}
