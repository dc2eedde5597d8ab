// Package python understands the memory of CPython 3.8 to 3.14 with the global interpreter lock, in a process that does
// not run: which blocks have objects, which of their words are no references, from which modules and frames
// the program reaches them, and what the objects on a path are called.
//
// # Objects
//
// An object begins with its reference count and the address of its type. A type is an object, too: its own type is
// PyType_Type or a subtype of it. So all types are found first, in the data of the modules and in the
// blocks that are large enough. A block has an object if the word of its type is the address of one of them, the
// reference count is possible, and the block is large enough for the type.
//
// Before an object there are 0, 16 or 32 bytes: the head of the garbage collector for types that it tracks, and
// before that, from 3.11 on, two words of an object with attributes (Objects/object_layout.md). The
// head links all objects that the collector knows, so it does not hold any of them.
//
// # Doubtful words
//
// Some words of objects are no references, or references that do not keep an object alive: the text of a str, what
// is behind a short tuple in its block, weak references, frames that are not in use. Such a word may have an
// address by chance. It is never ignored: see [graph.Content].
//
// # Names
//
// Names are those of the program: modules, variables, attributes, types, functions, files. Keys and values of the
// program's data are never among them. A key of a dict is a name only if the dict has the variables of
// a module, a class, an object or a frame, and the key is an identifier.
package python
