// Package ast holds the syntax tree of a demangled C++ name, and prints it.
//
// The nodes of a [Tree] are elements of one slice and refer to each other by index, so that a name
// costs no allocation. A [Printer] spells a tree in one of two styles: as llvm-cxxfilt 14 does, or
// as c++filt does.
//
// The printer remembers where the text of a node is in the output, and copies it from there the
// next time. Names of templates repeat parts by back references, and their text may be
// exponentially longer than the mangled name. The printer therefore stops at a limit.
package ast
