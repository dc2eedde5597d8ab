#include "language/known.h"

#include "base/names.h"
#include "base/problems.h"
#include "unwind/published.h"

enum {
    BITS = 12,
    LINE_WORDS = sizeof(struct hl_line) / sizeof(uint64_t),
    WORDS = HL_KEY_WORDS + LINE_WORDS
};
static struct entry {
    uint32_t sequence;
    uint64_t words[WORDS]; // struct hl_key, struct hl_line
} entries[1 << BITS];

static struct entry *entry_of(const struct hl_key *key) {
    uint64_t hash = 0;
    for (int i = 0; i < HL_KEY_WORDS; i++)
        hash = (hash ^ key->word[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &entries[hash >> (64 - BITS)];
}

bool hl_known(const struct hl_key *key, struct hl_line *line) {
    struct entry *e = entry_of(key);
    uint64_t words[WORDS];
    if (!hl_published_read(&e->sequence, e->words, words, WORDS) ||
        memcmp(words, key, sizeof *key) != 0)
        return false;
    memcpy(line, words + HL_KEY_WORDS, sizeof *line);
    return true;
}

void hl_know(const struct hl_key *key, const struct hl_line *line) {
    struct entry *e = entry_of(key);
    uint64_t words[WORDS];
    memcpy(words, key, sizeof *key);
    memcpy(words + HL_KEY_WORDS, line, sizeof *line);
    hl_published_write(&e->sequence, e->words, words, WORDS);
}

uint64_t hl_texts_address(const struct hl_texts *t, const char *language, uint32_t line) {
    uint64_t address =
        hl_name(t->function, t->function_length, t->file, t->file_length, line, language);
    if (address == 0)
        hl_problem("names-full", "no room for more lines of scripts: further ones are left out");
    return address;
}
