#include "process/config.h"

#include "base/text.h"

struct hl_config hl_config = {.period = 128 << 10, .python = 1, .mmap = 1, .filters = UINT64_MAX};
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
    {"mmap=", &hl_config.mmap},         {"number=", &hl_config.number},
    {"filters=", &hl_config.filters},
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

bool hl_config_read(void) {
    char *s = variable("HEAPLAPSE_ENGINE=");
    return s && hl_config_parse(s);
}

bool hl_config_parse(char *s) {
    for (; *s && !hl_has_prefix(s, "prefix="); s = next_word(s)) {
        if (hl_has_prefix(s, "main="))
            hl_config.main = s + hl_strlen("main=");
        else if (!read_number(s))
            return false;
    }
    const char *prefix = s + hl_strlen("prefix=");
    if (!*s || *prefix != '/' || hl_strlen(prefix) >= sizeof hl_config.prefix) return false;
    memcpy(hl_config.prefix, prefix, hl_strlen(prefix) + 1);
    if (hl_config.period == 0) hl_config.period = 1;
    return true;
}
