// Sources: CPython's Include/cpython/pystate.h, Include/cpython/code.h,
// Include/cpython/frameobject.h (Objects/frameobject.c), Include/internal/pycore_frame.h,
// Include/cpython/unicodeobject.h; from 3.13 on Include/internal/pycore_debug_offsets.h. A release
// never changes them after 3.x.0.
#include "python/layout.h"

// What several versions have in common.
#define CODE_TO_3_10                                                                               \
    {.filename = 104, .name = 112, .first_line = 40, .lines = 120, .instructions = HL_ABSENT}
#define STRING_TO_3_11 {.length = 16, .state = 32, .ascii = 48, .compact = 72}

static const struct hl_layout known[] = {
    {.minor = 9, // and 3.8
     .finalizing = 16,
     .thread = {.frame = 24, .activation = HL_ABSENT, .thread_id = 176},
     .frame = {.code = 32,
               .previous = 24,
               .instruction = 104,
               .owner = HL_ABSENT,
               .is_entry = HL_ABSENT},
     .code = CODE_TO_3_10,
     .string = STRING_TO_3_11},
    {.minor = 10,
     .finalizing = 16,
     .thread = {.frame = 24, .activation = 48, .thread_id = 176},
     .activation = {.frame = HL_ABSENT, .previous = 8},
     .frame =
         {.code = 32, .previous = 24, .instruction = 96, .owner = HL_ABSENT, .is_entry = HL_ABSENT},
     .code = CODE_TO_3_10,
     .string = STRING_TO_3_11},
    {.minor = 11,
     .finalizing = 24,
     .thread = {.frame = HL_ABSENT, .activation = 56, .thread_id = 152},
     .activation = {.frame = 8, .previous = 16},
     .frame = {.code = 32, .previous = 48, .instruction = 56, .owner = 69, .is_entry = 68},
     .code = {.filename = 112, .name = 128, .first_line = 72, .lines = 136, .instructions = 184},
     .string = STRING_TO_3_11},
    {.minor = 12,
     .finalizing = 24,
     .thread = {.frame = HL_ABSENT, .activation = 56, .thread_id = 136},
     .activation = {.frame = 0, .previous = 8},
     .frame = {.code = 0, .previous = 8, .instruction = 56, .owner = 70, .is_entry = HL_ABSENT},
     .code = {.filename = 112, .name = 128, .first_line = 68, .lines = 136, .instructions = 192},
     .string = {.length = 16, .state = 32, .ascii = 40, .compact = 56}},
};

// The table of _Py_DebugOffsets is words of 64 bits, in groups. Each group begins with the size of
// the structure that it describes. These are the words of the groups that are used, by version.
struct words {
    int minor;
    int finalizing;
    struct {
        int size, current_frame, thread_id;
    } thread;
    struct {
        int size, previous, executable, instruction, owner;
    } frame;
    struct {
        int size, filename, qualname, lines, first_line, instructions;
    } code;
    int object_type;
    struct {
        int state, length, ascii;
    } string;
};

static const struct words words_of[] = {
    {.minor = 13,
     .finalizing = 4,
     .thread = {19, 23, 24},
     .frame = {28, 29, 30, 31, 33},
     .code = {34, 35, 37, 38, 39, 43},
     .object_type = 45,
     .string = {68, 69, 70}},
    {.minor = 14,
     .finalizing = 4,
     .thread = {22, 26, 27},
     .frame = {31, 32, 33, 34, 36},
     .code = {39, 40, 42, 43, 44, 48},
     .object_type = 51,
     .string = {78, 79, 80}},
};

// offset returns a word of the table if it is an offset into a structure of the given size. Else it
// sets *bad.
static int16_t offset(const uint64_t *table, int word, uint64_t size, bool *bad) {
    if (size > INT16_MAX || table[word] >= size) *bad = true;
    return *bad ? 0 : (int16_t)table[word];
}

static bool read_table(const uint64_t *table, const struct words *w, struct hl_layout *l) {
    enum { MAX_RUNTIME = 4096, MAX_STRING = 256, STRING_FIELDS = 2 * sizeof(uintptr_t) };
    bool bad = false;
    uint64_t thread = table[w->thread.size], frame = table[w->frame.size];
    uint64_t code = table[w->code.size];
    *l = (struct hl_layout){.minor = w->minor};
    l->finalizing = offset(table, w->finalizing, MAX_RUNTIME, &bad);
    l->thread.activation = HL_ABSENT;
    l->thread.frame = offset(table, w->thread.current_frame, thread, &bad);
    l->thread.thread_id = offset(table, w->thread.thread_id, thread, &bad);
    l->frame.previous = offset(table, w->frame.previous, frame, &bad);
    l->frame.code = offset(table, w->frame.executable, frame, &bad);
    l->frame.instruction = offset(table, w->frame.instruction, frame, &bad);
    l->frame.owner = offset(table, w->frame.owner, frame, &bad);
    l->frame.is_entry = HL_ABSENT;
    l->code.filename = offset(table, w->code.filename, code, &bad);
    l->code.name = offset(table, w->code.qualname, code, &bad);
    l->code.lines = offset(table, w->code.lines, code, &bad);
    l->code.first_line = offset(table, w->code.first_line, code, &bad);
    l->code.instructions = offset(table, w->code.instructions, code, &bad);
    l->object.type = offset(table, w->object_type, MAX_STRING, &bad);
    l->string.state = offset(table, w->string.state, MAX_STRING, &bad);
    l->string.length = offset(table, w->string.length, MAX_STRING, &bad);
    l->string.ascii = offset(table, w->string.ascii, MAX_STRING, &bad);
    // Strings with other characters have the length and the address of their UTF-8 form, too.
    l->string.compact = (int16_t)(l->string.ascii + STRING_FIELDS);
    return !bad;
}

// from_table reads the layout from the table. The words behind the cookie are the version of the
// interpreter and whether it is a free-threaded build.
static bool from_table(int minor, const void *runtime, struct hl_layout *l, const char **reason) {
    static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    const uint64_t *table = runtime;
    if (memcmp(table, cookie, sizeof cookie) != 0 || table[1] >> 16 != (uint64_t)(0x0300 | minor)) {
        *reason = "has no table of offsets";
        return false;
    }
    if (table[2] != 0) {
        *reason = "is a free-threaded build";
        return false;
    }
    for (size_t i = 0; i < HL_LENGTH(words_of); i++)
        if (words_of[i].minor == minor && read_table(table, &words_of[i], l)) return true;
    *reason = "has an unknown table of offsets";
    return false;
}

bool hl_layout_of(int minor, const void *runtime, struct hl_layout *layout, const char **reason) {
    for (size_t i = 0; i < HL_LENGTH(known); i++) {
        if (known[i].minor != minor && !(minor == 8 && known[i].minor == 9)) continue;
        *layout = known[i];
        layout->minor = minor;
        layout->object.type = 8;
        return true;
    }
    if (minor < HL_PYTHON_OLDEST || minor > HL_PYTHON_NEWEST) {
        *reason = "is not one of the supported versions, 3.8 to 3.14";
        return false;
    }
    return from_table(minor, runtime, layout, reason);
}
