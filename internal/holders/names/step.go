package names

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

// Step is one object on the way from what holds a block to the block. An object may have several blocks, such as
// a dict of CPython and its table of entries.
type Step struct {
	// Block is the last block of the object on the way.
	Block blocks.Range
	// Via names what of the step before, or of the holder for the first step, refers to the object: ".history" for a
	// member or an attribute, "[…]" for an element, " local conn" for a variable of a frame. It is "" if that is
	// not known. It never has a key or a value of the program's data.
	Via string
	// Type is that of the object, such as "dict", "app.Session" or "std::string", or "" if it is not known.
	Type string
	// Length is the number of elements of a container, and Limit the most that it keeps, such as the maxsize
	// of functools.lru_cache. -1 means that there is none, or that it is not known.
	Length, Limit int64
	// Links is the number of further objects of the same type that were left out behind this one, as in a list of
	// linked nodes.
	Links int
	// Skipped is the number of blocks that were left out before this one, until [Fold].
	Skipped int
}
