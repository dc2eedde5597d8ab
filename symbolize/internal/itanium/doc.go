// Package itanium shows names that were mangled by the C++ ABI of Itanium, which gcc and clang use everywhere but on
// Windows: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
//
// A name is parsed into nodes (node.go; parse.go, name.go, types.go, expr.go, template.go), which are then printed (print.go,
// declarator.go, printexpr.go). Nodes lie in one slice and know each other by index, and a Demangler keeps its slices from
// name to name, so that names cost next to no allocations. A node that stands for the same text wherever it is printed
// remembers where its text lies in the output, and is copied from there the next time: names of templates repeat
// themselves by back references, and their text can be exponential in their length.
//
// # Spelling
//
// The ABI says what names mean and not how they are written. Full spells them as llvm-cxxfilt and llvm-symbolizer do.
// Releases of LLVM differ: 14 writes `> >`, and parentheses around each operand, where 22 has learnt precedences and writes
// `>>`. A name that needs nothing newer than LLVM 14 is spelled as LLVM 14 spells it, for names of one output should look
// alike; a name that LLVM 14 refuses is spelled as LLVM 22 does. Simple spells names as
// c++filt does.
//
// # Hostile names
//
// Any string is allowed. The depth of nesting, the steps of printing and the size of the output are bounded (see the
// Max… constants); what exceeds them is ErrTooLarge.
package itanium
