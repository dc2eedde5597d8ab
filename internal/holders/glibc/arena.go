package glibc

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// arena is a struct malloc_state. top is the address of its member of that name.
type arena struct {
	top  uint64
	main bool
}

// Offsets from the member top: see the documentation of the package.
const (
	fastbins, toFastbins = 10, 80
	bins, toBins         = 127, 16
	toNext               = 2064
	maxToTop             = 96 // from the start of the structure
	toEnd                = 2104
	maxArenas            = 4096
)

// state is the part of an arena from top on.
type state []byte

const stateSize = toNext + 8

func (w *walk) readState(top uint64) (state, bool) {
	b := make(state, stateSize)
	return b, w.Memory.Read(top, b) == nil
}

// word returns the word at an offset from top.
func (s state) word(offset int) uint64 { return binary.LittleEndian.Uint64(s[offset:]) }

// isArena reports whether the state is that of an arena whose member top is at an address.
func (s state) isArena(top uint64) bool {
	if chunk := s.word(0); chunk == 0 || chunk%16 != 0 {
		return false
	}
	empty := 0
	for i := range uint64(bins) {
		self := top + 16*i // the links lie 16 bytes behind the chunk that they are taken for
		next, previous := s.word(toBins+int(16*i)), s.word(toBins+8+int(16*i))
		switch {
		case next == self && previous == self:
			empty++
		case next == self || previous == self || next == 0 || previous == 0 || next%16 != 0 || previous%16 != 0:
			return false
		}
	}
	return empty > 0
}

// findArenas returns the main arena, which is in the data of the C library, and those of the ring in
// which it is.
func (w *walk) findArenas() (list []arena, err error) {
	first, err := w.findMain()
	if err != nil {
		return nil, err
	}
	list = append(list, arena{first, true})
	for at := first; len(list) < maxArenas; {
		s, ok := w.readState(at)
		if !ok {
			break
		}
		if at, ok = w.topOf(s.word(toNext)); !ok {
			w.problem("the arena after that at %#x is not one", list[len(list)-1].top)
			return list, nil
		}
		if at == first {
			return list, nil
		}
		list = append(list, arena{at, false})
	}
	w.problem("the ring of arenas does not end")
	return list, nil
}

// findMain searches the data of the C library for an arena.
func (w *walk) findMain() (uint64, error) {
	const largest = 16 << 20
	for _, r := range w.Data {
		if r.End < r.Start || r.Size() > largest || r.Size() < stateSize {
			continue
		}
		b := make([]byte, r.Size())
		if w.Memory.Read(r.Start, b) != nil {
			continue
		}
		for i := int(-r.Start & 7); i+stateSize <= len(b); i += 8 {
			top := r.Start + uint64(i)
			if s := state(b[i : i+stateSize]); s.isArena(top) {
				return top, nil
			}
		}
	}
	return 0, ErrNoArena
}

// topOf returns the address of the member top of an arena. What precedes it differs between versions.
func (w *walk) topOf(address uint64) (uint64, bool) {
	for offset := uint64(0); offset <= maxToTop; offset += 8 {
		if s, ok := w.readState(address + offset); ok && s.isArena(address+offset) {
			return address + offset, true
		}
	}
	return 0, false
}

// walkArena adds the blocks of an arena.
func (w *walk) walkArena(a arena) {
	s, ok := w.readState(a.top)
	if !ok {
		w.problem("the arena at %#x cannot be read", a.top)
		return
	}
	top := s.word(0)
	if top == a.top {
		return // the arena has no memory yet: its top is the first list, which is empty
	}
	if a.main {
		w.walkMain(top)
		return
	}
	if err := w.walkHeaps(a, top); err != nil {
		w.problem("the arena at %#x: %w", a.top, err)
	}
}

// walkMain adds the blocks of the main arena.
func (w *walk) walkMain(top uint64) {
	heap := w.Process.Heap
	if !heap.Contains(top) {
		w.problem("the main arena has memory outside of [heap], at %#x", top)
		return
	}
	var first error
	for _, start := range w.heapStarts() {
		foundTop, err := w.walkChunks(blocks.Range{Start: start, End: heap.End}, top)
		if err == nil && !foundTop { // the program has called sbrk, too
			w.problem("[heap]: no chunk leads to the last one, at %#x", top)
		}
		if err == nil {
			return
		}
		if first == nil {
			first = err
		}
	}
	w.problem("[heap]: %w", first)
}

// heapStarts returns where the first chunk of [heap] may be: at its start, or, if the program has called sbrk
// before malloc, where a word in the data of the C library points to (mp_.sbrk_base).
func (w *walk) heapStarts() []uint64 {
	const most = 64
	list := []uint64{(w.Process.Heap.Start + 15) &^ 15}
	for _, r := range w.Data {
		words := w.window(r)
		for at := (r.Start + 7) &^ 7; len(list) < most && at < r.End; at += 8 {
			word, ok := words.Word(at)
			if !ok {
				break
			}
			if start := (word + 15) &^ 15; w.Process.Heap.Contains(word) && !slices.Contains(list, start) {
				list = append(list, start)
			}
		}
	}
	slices.Sort(list)
	return list
}

// heapSizes are the sizes and alignments of heaps: the usual one, and those with huge pages of 2 MiB
// and 1 GiB.
var heapSizes = []uint64{64 << 20, 8 << 20, 4 << 30}

// maxHeaps limits the heaps of an arena.
const maxHeaps = 1 << 20

// walkHeaps adds the blocks of an arena with its own heaps, from the newest one on.
func (w *walk) walkHeaps(a arena, top uint64) error {
	size, ok := w.heapSize(a, top)
	if !ok {
		return fmt.Errorf("no heap contains its top, %#x", top)
	}
	newest := true
	for at, n := top&^(size-1), 0; at != 0; n++ {
		h, ok := w.readHeap(at)
		if !ok || !a.startsAt(h.arena) {
			return fmt.Errorf("there is no heap at %#x", at)
		}
		if n == maxHeaps || h.size > size || h.size < 4096 || at%size != 0 {
			return fmt.Errorf("the heap at %#x is malformed", at)
		}
		foundTop, err := w.walkHeap(a, at, h, top)
		if err != nil {
			return fmt.Errorf("the heap at %#x: %w", at, err)
		}
		if newest && !foundTop {
			return fmt.Errorf("the heap at %#x: no chunk leads to the last one, at %#x", at, top)
		}
		newest, at = false, h.previous
	}
	return nil
}

// startsAt reports whether an arena may start at an address.
func (a arena) startsAt(address uint64) bool { return address <= a.top && a.top-address <= maxToTop }

// heapInfo is a struct heap_info.
type heapInfo struct{ arena, previous, size uint64 }

func (w *walk) readHeap(at uint64) (heapInfo, bool) {
	var b [24]byte
	if w.Memory.Read(at, b[:]) != nil {
		return heapInfo{}, false
	}
	return heapInfo{
		binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]),
	}, true
}

// heapSize finds out at which multiples the heaps of an arena lie.
func (w *walk) heapSize(a arena, top uint64) (uint64, bool) {
	for _, size := range heapSizes {
		if h, ok := w.readHeap(top &^ (size - 1)); ok && a.startsAt(h.arena) && h.size <= size {
			return size, true
		}
	}
	return 0, false
}

// walkHeap adds the blocks of a heap. The first chunk follows struct heap_info, which has 32 bytes or, from
// 2.35 on, 48; or the arena, if that is in this heap.
func (w *walk) walkHeap(a arena, at uint64, h heapInfo, top uint64) (foundTop bool, err error) {
	starts := []uint64{at + 32, at + 48}
	if within := (blocks.Range{Start: at, End: at + h.size}); within.Contains(a.top) {
		starts = []uint64{(a.top + toEnd + 15) &^ 15}
	}
	for _, start := range starts {
		if foundTop, err = w.walkChunks(blocks.Range{Start: start, End: at + h.size}, top); err == nil {
			return foundTop, nil
		}
	}
	return false, err
}
