package musl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Process is what is known of the process.
type Process struct {
	Memory blocks.Memory
	// Data lists the writable data of the C library.
	Data []blocks.Range
	// Writable lists the writable private mappings, by address. Adjacent ones are one.
	Writable []blocks.Range
	// ThreadPointers has those of the threads.
	ThreadPointers []uint64
}

// Result tells what was found.
type Result struct {
	// Groups is the number of groups, Nested that of groups in slots of others, and Changing the number of slots that
	// a thread was changing.
	Groups, Nested, Changing int
	// Own lists the memory in which the allocator keeps its own data, except for the headers of groups.
	Own []blocks.Range
	// Problems lists what does not fit. If there is any, blocks may be missing or wrong.
	Problems []error
}

// ErrNoContext is returned if the C library has no data of this malloc.
var ErrNoContext = errors.New("no data of musl's malloc was found")

const (
	maxProblems = 100
	// maxBytes limits the memory of all groups.
	maxBytes = 256 << 30
)

// Walk adds the blocks to a set. A block with the thread-local variables of the main thread is free: it
// belongs to the C library.
func Walk(p Process, set *blocks.Set) (Result, error) {
	w := newWalk(p, set)
	c, ok := w.findContext()
	if !ok {
		return Result{}, ErrNoContext
	}
	w.Own = append(w.Own, c.Range)
	w.readAreas(c)
	slices.SortStableFunc(w.groups, func(a, b *group) int { return cmp.Compare(a.Start, b.Start) })
	w.addAll()
	w.freeThreads()
	return w.Result, nil
}

type walk struct {
	Process
	Result
	set    *blocks.Set
	groups []*group // by address
	words  blocks.Window
	run    []*group // adjacent groups that are not in the set yet
	bytes  uint64   // of all groups that are not in others
}

func newWalk(p Process, set *blocks.Set) *walk {
	return &walk{Process: p, set: set, words: blocks.Window{Memory: p.Memory}}
}

func (w *walk) problem(format string, args ...any) {
	if len(w.Problems) < maxProblems {
		w.Problems = append(w.Problems, fmt.Errorf(format, args...))
	}
}

// writable returns the writable memory that contains a range, or an empty range.
func (w *walk) writable(r blocks.Range) blocks.Range {
	within, _ := blocks.Containing(w.Writable, r)
	return within
}

// word reads a word of memory that is read forwards.
func (w *walk) word(address uint64) (uint64, bool) {
	if !w.words.Within.Contains(address) {
		w.words.Within = w.writable(blocks.Range{Start: address, End: address + 8})
	}
	return w.words.Word(address)
}

// addAll adds the groups to the set. Adjacent ones are one region.
func (w *walk) addAll() {
	end := uint64(0)
	for _, g := range w.groups {
		if g.Start < end || !w.isLinked(g) { // it must be in a slot
			continue
		}
		if w.bytes += g.Size(); w.bytes > maxBytes {
			w.problem("the groups have more than %d bytes", uint64(maxBytes))
			break
		}
		if n := len(w.run); n > 0 && (w.run[n-1].End != g.Start || g.End-w.run[0].Start > blocks.MaxRegion) {
			w.flush()
		}
		w.run, end = append(w.run, g), g.End
	}
	w.flush()
	for _, g := range w.groups {
		if !g.added {
			w.checkAbsent(g)
		}
	}
}

// isLinked reports whether a group has the address of its struct meta.
func (w *walk) isLinked(g *group) bool {
	meta, ok := w.word(g.Start)
	return ok && meta == g.meta
}

// checkAbsent tells why a group is not in the set. If it begins with 0, a thread is making it or removing it, and no
// block in it is in use: that is no problem. Its memory counts as memory of unknown content, which is the safe side.
func (w *walk) checkAbsent(g *group) {
	switch meta, ok := w.word(g.Start); {
	case ok && meta == 0:
	case !ok || meta != g.meta:
		w.problem("the group at %#x does not belong to the structure at %#x", g.Start, g.meta)
	default:
		w.problem("the group at %#x is in no slot", g.Start)
	}
}

// flush adds the run of groups to the set as a region.
func (w *walk) flush() {
	run := w.run
	if len(run) == 0 {
		return
	}
	w.run = nil
	region, err := blocks.NewRegion(blocks.Range{Start: run[0].Start, End: run[len(run)-1].End})
	if err == nil {
		for _, g := range run {
			w.addGroup(region, g)
		}
		err = w.set.Add(region)
	}
	if err != nil {
		w.problem("the groups at %#x: %w", run[0].Start, err)
	}
}

// freeThreads marks the blocks with the descriptor of the main thread as free: the C library allocates it if it
// does not fit in its data.
func (w *walk) freeThreads() {
	for _, pointer := range w.ThreadPointers {
		if b, ok := w.set.Find(pointer); ok && w.isMain(pointer) {
			w.set.SetFree(b.Start)
		}
	}
}

// isMain reports whether a descriptor (struct pthread) is that of the main thread: it has no mapping and no stack. The
// addresses and sizes of these are four words at +72, in 1.2.1 at +80.
func (w *walk) isMain(descriptor uint64) bool {
	const first, last = 72, 80 + 3*8
	if self, ok := w.word(descriptor); !ok || self != descriptor {
		return false
	}
	for at := uint64(first + 8); at < last; at += 8 {
		if word, ok := w.word(descriptor + at); !ok || word != 0 {
			return false
		}
	}
	return true
}
