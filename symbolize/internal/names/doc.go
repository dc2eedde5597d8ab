// Package names turns linkage names of C++ and Rust into names for display.
//
// [Demangle] demangles one name. A [Table] demangles many names on its own goroutines, each name once. Both use:
//
//   - github.com/ianlancetaylor/demangle for C++ and for Rust's legacy mangling in simple names;
//   - package rustv0 for Rust's v0 mangling (_R…). The library rejects 1 in 100 of those names or prints them
//     wrongly, among them closures within closures: see TestLibraryDefects in package rustv0.
//
// A name has one full form, which is that of llvm-symbolizer 14: every command prints the same. What differs is in
// docs/conformance.md.
package names
