// The names of Python frames.
#ifndef HL_PYTHON_CODE_H
#define HL_PYTHON_CODE_H

#include "language/chain.h"
#include "python/interpreter.h"

enum hl_named { HL_NAMED_OK, HL_NAMED_HIDDEN, HL_NAMED_INVALID };

// hl_code_name sets *name to the name of an instruction of a code object. The result is
// HL_NAMED_HIDDEN for code that the interpreter made for itself, and HL_NAMED_INVALID if there is
// no code object, or no memory for the name.
enum hl_named hl_code_name(const struct hl_interpreter *py, struct hl_window *w, uintptr_t code,
                           int offset, struct hl_line *name);

#endif
