// Package names turns linkage names of C++ and Rust into names for display.
//
// A [Demangler] demangles one name at a time. A [Table] demangles many names on its own goroutines,
// each name once. Both use these demanglers:
//
//   - package itanium for C++;
//   - package rustv0 for Rust's v0 mangling (_R…). github.com/ianlancetaylor/demangle prints 1 in 80 of
//     those names wrongly, see TestLibraryDefects in package rustv0;
//   - github.com/ianlancetaylor/demangle for Rust's legacy mangling in simple names, and for the C++
//     names that package itanium rejects: names of old compilers, and manglings newer than LLVM 14.
//
// A name has one full form, which is that of llvm-symbolizer: every command prints the same.
package names
