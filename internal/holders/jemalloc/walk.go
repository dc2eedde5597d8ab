package jemalloc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Process is what is known of the process.
type Process struct {
	Memory blocks.Memory
	// Data lists the writable data of the module that may have jemalloc.
	Data []blocks.Range
	// Anonymous lists the writable private mappings without a file, by address. Adjacent ones are one.
	Anonymous []blocks.Range
	// Resident returns the parts of a range that have content, by address. If it is nil, all has.
	Resident func(blocks.Range) []blocks.Range
	Threads  []Thread
}

// Thread is a thread of the process.
type Thread struct {
	// Pointer is its thread pointer.
	Pointer uint64
	// Local lists where it may have the thread-local variables of the module.
	Local []blocks.Range
}

// Result tells what was found.
type Result struct {
	// Own lists the memory in which the allocator keeps its own data.
	Own []blocks.Range
	// Problems lists what does not fit. If there is any, blocks may be missing or wrong.
	Problems []error
	// Slabs and Large are the numbers of extents in use, Caches that of the caches of threads, and Cached that of the
	// blocks in them.
	Slabs, Large, Caches, Cached int
}

// ErrNoTree is returned if the module has no tree of extents: it does not use jemalloc.
var ErrNoTree = errors.New("no tree of jemalloc was found")

const (
	pageSize    = 4 << 10
	maxProblems = 16
	// maxBytes limits the size of all extents, and maxRead what is read of the tree: 2 MiB for each GiB.
	maxBytes = 512 << 30
	maxRead  = 8 << 30
)

// HasRoom reports whether the data of a module is large enough for the tree of extents.
func HasRoom(data []blocks.Range) bool {
	return slices.ContainsFunc(data, func(r blocks.Range) bool { return r.End > r.Start && r.Size() >= nodeSize })
}

// Walk adds the blocks of jemalloc to a set.
func Walk(p Process, set *blocks.Set) (*Result, error) {
	w, err := read(p)
	if err != nil {
		return nil, err
	}
	w.findCaches()
	w.findCreated()
	w.addRegions(set)
	return w.Result, nil
}

// read reads the extents.
func read(p Process) (*walk, error) {
	w := &walk{
		Process: p, Result: &Result{}, reader: blocks.Reader{Memory: p.Memory},
		own: map[uint64]bool{}, leaves: map[uint64]bool{},
	}
	root, err := w.findRoot()
	if err != nil {
		return nil, err
	}
	w.readTree(root)
	return w, w.readSlabs()
}

type walk struct {
	Process
	*Result
	reader  blocks.Reader // of extents
	extents []extent      // by address
	layout  layout
	leaves  map[uint64]bool // of the tree
	own     map[uint64]bool // multiples of 2 MiB that are in Own, or that are not known to be
	unowned int             // structures that are not in a block of the allocator
	read    uint64          // bytes
}

func (w *walk) problem(format string, args ...any) {
	if len(w.Problems) < maxProblems {
		w.Problems = append(w.Problems, fmt.Errorf(format, args...))
	}
}

// isAnonymous reports whether a range lies in anonymous memory.
func (w *walk) isAnonymous(r blocks.Range) bool {
	_, ok := blocks.Containing(w.Anonymous, r)
	return ok
}

// words calls a function for each word of a range that is not 0, until it returns false.
func (w *walk) words(r blocks.Range, f func(address, word uint64) bool) {
	parts := []blocks.Range{r}
	if w.Resident != nil {
		parts = w.Resident(r)
	}
	window := &blocks.Window{Memory: w.Memory, Within: r}
	for _, part := range parts {
		for at := part.Start &^ (pageSize - 1); at < part.End; at += pageSize {
			if w.read += pageSize; w.read > maxRead {
				w.problem("the tree of jemalloc is too large")
				return
			}
			page := blocks.Range{Start: max(at, (part.Start+7)&^7), End: min(at+pageSize, part.End)}
			if !wordsOf(window, page, f) {
				return
			}
		}
	}
}

// wordsOf is words for a page.
func wordsOf(window *blocks.Window, page blocks.Range, f func(address, word uint64) bool) bool {
	for at := page.Start; at < page.End; at += 8 {
		word, ok := window.Word(at)
		if !ok {
			return true
		}
		if word != 0 && !f(at, word) {
			return false
		}
	}
	return true
}
