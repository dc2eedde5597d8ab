// Package itanium demangles names of the Itanium C++ ABI, which gcc and clang use on all systems
// except Windows: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
//
// A recursive-descent parser builds a tree of nodes, which package ast prints. The parser is split
// by the rules of the grammar: encoding.go, name.go, types.go, expr.go, operator.go and
// template.go. A Demangler keeps its memory from name to name, and demangles nearly all names
// without allocating.
//
// # Which names
//
// The package accepts the names that LLVM 14 accepts, and a few that only the GNU tools accept (see
// the tests). It rejects newer manglings, such as constraints, modules and explicit object
// parameters. Its caller leaves rejected names to github.com/ianlancetaylor/demangle, which is
// slower.
//
// # Spelling
//
// The ABI defines the meaning of names, not their spelling. Full spells them as llvm-cxxfilt and
// llvm-symbolizer 14 do, Simple as c++filt does.
//
// # Hostile names
//
// Any string is a valid input. The depth of nesting, the time for printing and the size of the
// output are limited. A name that exceeds a limit is ErrTooLarge.
package itanium
