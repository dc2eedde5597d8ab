// Text: formatting numbers and JSON strings into a buffer, and parsing numbers. May be called by
// any thread at any time.
#ifndef HL_BASE_TEXT_H
#define HL_BASE_TEXT_H

#include "base/platform.h"

// struct hl_text is a buffer that is being filled. What does not fit is dropped, and overflow is
// set.
struct hl_text {
    char *at, *end;
    bool overflow;
};

struct hl_text hl_text(char *buffer, size_t size);
void hl_put(struct hl_text *t, const char *s, size_t n);
void hl_put_string(struct hl_text *t, const char *s);
void hl_put_number(struct hl_text *t, uint64_t v, int min_digits);
void hl_put_hex(struct hl_text *t, uint64_t v);

// hl_put_json appends the inside of a JSON string: quotes, backslashes and control characters are
// escaped, and invalid UTF-8 becomes \ufffd.
void hl_put_json(struct hl_text *t, const char *s, size_t n);

// hl_format appends a text with directives: %s string, %j string as the inside of a JSON string,
// %u uint64_t, %d int64_t, %x uint64_t in hexadecimal, %4 uint64_t with at least four digits, %%.
void hl_format(struct hl_text *t, const char *format, ...);

// hl_put_end appends a zero byte, replacing the last byte if the buffer is full. It reports whether
// everything fit.
bool hl_put_end(struct hl_text *t);

// hl_parse_number parses decimal digits and advances *s behind them. It returns false if there are
// none, or if the value does not fit.
bool hl_parse_number(const char **s, uint64_t *v);

#endif
