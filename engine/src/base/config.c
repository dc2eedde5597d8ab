#include "base/config.h"

#include "base/text.h"

struct hl_config hl_config = {
    .period = 128 << 10, .python = 1, .mmap = 1, .patience = 2000, .filters = UINT64_MAX};
struct hl_process hl_process;

extern char **environ;

static char *variable(const char *name_and_equals) {
    for (char **e = environ; e && *e; e++)
        if (hl_has_prefix(*e, name_and_equals)) return *e + hl_strlen(name_and_equals);
    return NULL;
}

static const struct {
    const char *key;
    uint64_t *value;
} numbers[] = {
    {"period=", &hl_config.period},     {"every=", &hl_config.every},
    {"part=", &hl_config.part},         {"alloc=", &hl_config.alloc},
    {"inuse=", &hl_config.inuse},       {"signal=", &hl_config.signal},
    {"children=", &hl_config.children}, {"python=", &hl_config.python},
    {"mmap=", &hl_config.mmap},         {"filters=", &hl_config.filters},
    {"patience=", &hl_config.patience},
};

// read_number reads one key and its value. It returns false if the value is not a number.
static bool read_number(const char *s) {
    for (size_t i = 0; i < HL_LENGTH(numbers); i++) {
        if (!hl_has_prefix(s, numbers[i].key)) continue;
        const char *digits = s + hl_strlen(numbers[i].key);
        return hl_parse_number(&digits, numbers[i].value) && (*digits == ' ' || *digits == 0);
    }
    return true;
}

static char *next_word(char *s) {
    while (*s && *s != ' ') s++;
    while (*s == ' ') s++;
    return s;
}

// read_word copies a value of a key into a buffer of the given size. It returns false if it is too
// long.
static bool read_word(const char *value, char *to, size_t size) {
    size_t n = 0;
    for (; value[n] && value[n] != ' '; n++)
        if (n + 1 >= size) return false;
    memcpy(to, value, n);
    to[n] = 0;
    return true;
}

static bool read_setting(char *s) {
    static const char path[] = "path=";
    if (hl_has_prefix(s, path))
        return read_word(s + sizeof path - 1, hl_config.path, sizeof hl_config.path);
    static const char main[] = "main=", program[] = "program=", socket[] = "socket=",
                      token[] = "token=", answer[] = "answer=";
    if (hl_has_prefix(s, socket))
        return read_word(s + sizeof socket - 1, hl_config.socket, sizeof hl_config.socket);
    if (hl_has_prefix(s, token))
        return read_word(s + sizeof token - 1, hl_config.token, sizeof hl_config.token);
    if (hl_has_prefix(s, answer))
        return read_word(s + sizeof answer - 1, hl_config.answer, sizeof hl_config.answer);
    if (hl_has_prefix(s, main)) hl_config.main = s + sizeof main - 1;
    if (hl_has_prefix(s, program)) hl_config.program = s + sizeof program - 1;
    return read_number(s);
}

bool hl_config_read(void) {
    char *s = variable("HEAPLAPSE_ENGINE=");
    return s && hl_config_parse(s) && hl_config.socket[0];
}

bool hl_config_parse(char *s) {
    for (; *s; s = next_word(s))
        if (!read_setting(s)) return false;
    if (hl_config.period == 0) hl_config.period = 1;
    return true;
}
