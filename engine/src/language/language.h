// Languages whose frames are read without calling their interpreters.
#ifndef HL_LANGUAGE_LANGUAGE_H
#define HL_LANGUAGE_LANGUAGE_H

#include "base/objects.h"
#include "base/text.h"
#include "heap/runtime.h"
#include "language/known.h"

enum { HL_RELEASED = 3 };

// struct hl_language is a language. Its functions read the interpreter's memory through windows,
// and accept any content.
struct hl_language {
    const char *title;                 // "Perl"
    const char *symbol;                // which only its interpreter exports
    const char *loops[HL_LOOPS];       // exported functions that are loops; the first must be found
    const char *released[HL_RELEASED]; // exported functions that call others without the lock
    // examine looks at a module that has the symbol, and finds what the other functions need. It
    // returns false if the version is not known, and puts what it is into reason, such as
    // "5.38 is not one of the supported versions".
    bool (*examine)(struct hl_window *w, const struct hl_module *m, struct hl_text *reason);
    // begin goes to the innermost frame of the calling thread, which runs the loop. It returns
    // false if the frames cannot be read now.
    bool (*begin)(struct hl_chain *c);
    struct hl_walk walk;
};

extern const struct hl_language hl_perl, hl_php, hl_ruby;

// hl_languages is the runtime of all these languages.
extern const struct hl_runtime hl_languages;

// hl_language_line returns the line of a frame: that which is known by the key, or else that whose
// texts read sets. read returns false if the memory is not what it should be. The first frames tell
// whether the layout is as expected: if they are not, the language is given up.
struct hl_line
hl_language_line(struct hl_chain *c, const struct hl_key *key, const char *name, uint32_t line,
                 bool (*read)(struct hl_chain *c, const struct hl_key *key, struct hl_texts *t));

// hl_language_refuse gives the language of a chain up. The reason is as that of examine.
void hl_language_refuse(const struct hl_chain *c, const char *reason);

// hl_language_text copies a text that ends with a zero byte, or has n bytes, up to the size of the
// buffer. It returns its length. Text behind a page that cannot be read is cut.
size_t hl_language_text(struct hl_window *w, char *to, size_t size, uintptr_t from, size_t n);

// hl_language_thread_value returns the value that the calling thread has for a key of
// pthread_key_create.
uintptr_t hl_language_thread_value(unsigned key);

#endif
