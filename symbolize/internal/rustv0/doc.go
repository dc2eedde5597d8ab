// Package rustv0 demangles names of Rust's v0 mangling, _R….
//
// The mangling is specified in Rust RFC 2603, as amended in rustc's documentation. The package
// spells names as LLVM does: without the hashes of crates, and closures as {closure#0}. It agrees
// with llvm-cxxfilt 14 and 22 on all of 179,194 names of rustc, of its standard library and of a
// program that uses regex and serde_json. github.com/ianlancetaylor/demangle prints 2,235 of them
// differently, for the two reasons that TestLibraryDefects shows.
//
// Names may be hostile. The time for a name and the length of the result are limited.
package rustv0
