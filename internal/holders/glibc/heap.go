package glibc

import (
	"errors"
	"fmt"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Process is what is known of the process.
type Process struct {
	Memory blocks.Memory
	// Data lists the writable data of the C library.
	Data []blocks.Range
	// Heap has the mapping [heap]. Adjacent mappings of that name are one.
	Heap blocks.Range
	// Anonymous lists the writable private mappings without a file. Large blocks lie there.
	Anonymous []blocks.Range
	// Resident returns the parts of a range that have content, by address. If it is nil, all has.
	Resident func(blocks.Range) []blocks.Range
}

// Heap is the result of Walk.
type Heap struct {
	// Blocks has the blocks of all arenas, and large ones.
	Blocks blocks.Set
	// Arenas lists the arenas, the main one first.
	Arenas []Arena
	// InCaches has the addresses of the blocks in the caches of threads.
	InCaches []uint64
	// Own lists the memory in which the allocator keeps its own data.
	Own []blocks.Range
	// Problems lists what does not fit. If there is any, blocks may be missing or wrong.
	Problems []error
	// Cached is the number of free blocks in fastbins and in the caches of threads, Caches the number of
	// these, and Mapped the number of blocks with a mapping of their own.
	Cached, Caches, Mapped int
}

// Arena is an arena of malloc: memory with a lock of its own.
type Arena struct {
	Main bool
	// Heaps has its memory. The last block of the first one is that from which new blocks are cut.
	Heaps []*blocks.Region
}

// ErrNoArena is returned if the C library has no arena: the process does not use its malloc.
var ErrNoArena = errors.New("no arena of malloc was found")

// Walk finds the blocks.
func Walk(p Process) (*Heap, error) {
	w := &walk{Process: p, Heap: &Heap{}}
	arenas, err := w.findArenas()
	if err != nil {
		return nil, err
	}
	for _, a := range arenas {
		w.Own = append(w.Own, blocks.Range{Start: a.top, End: a.top + toEnd})
		w.Arenas = append(w.Arenas, Arena{Main: a.main})
		w.walkArena(a)
	}
	w.findMapped()
	w.freeLists(arenas)
	return w.Heap, nil
}

type walk struct {
	Process
	*Heap
}

func (w *walk) problem(format string, args ...any) {
	w.Problems = append(w.Problems, fmt.Errorf(format, args...))
}

// window returns a window of memory that is read forwards.
func (w *walk) window(r blocks.Range) *blocks.Window {
	return &blocks.Window{Memory: w.Memory, Within: r}
}
