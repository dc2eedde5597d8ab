// Names of frames that were read before. Reading the texts of a frame takes much longer than
// comparing what identifies them.
#ifndef HL_LANGUAGE_KNOWN_H
#define HL_LANGUAGE_KNOWN_H

#include "language/chain.h"

// struct hl_key is what identifies a function and a line: addresses and numbers. Memory is used
// again, so that a key has enough of them. Words that are not used are 0.
enum { HL_KEY_WORDS = 6 };
struct hl_key {
    uint64_t word[HL_KEY_WORDS];
};

// hl_known reports whether the name of a key is known, and sets *line. hl_know remembers it.
bool hl_known(const struct hl_key *key, struct hl_line *line);
void hl_know(const struct hl_key *key, const struct hl_line *line);

// struct hl_texts are the function and the file of a frame.
struct hl_texts {
    size_t function_length, file_length;
    char function[512], file[1024];
};

// hl_texts_address returns the address of a synthetic frame, or 0 if there is no memory for it.
// language is a constant such as "perl".
uint64_t hl_texts_address(const struct hl_texts *t, const char *language, uint32_t line);

#endif
