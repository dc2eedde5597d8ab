// Package rustv0 demangles the names that Rust's compiler has made since its "v0" mangling, _R….
//
// Source: Rust RFC 2603, "Symbol Name Mangling v0", as amended in rustc's documentation. Names are spelled as LLVM's
// llvm::rustDemangle spells them: crate hashes are left out, closures are {closure#0}.
//
// Input is hostile: a name is read in bounded time, and expands to a bounded size.
package rustv0
