package musl

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// slot is what a slot has.
type slot struct {
	blocks.Range // the memory that the program has requested
	state        state
}

type state int

const (
	used      state = iota
	freed           // or not yet handed out
	nested          // it has a group
	malformed       // or a thread is changing it
)

// addGroup adds the slots of a group to a region, and the blocks in them. What is not handed out is a free block.
func (w *walk) addGroup(region *blocks.Region, g *group) {
	w.Groups++
	g.added = true
	region.Add(g.Start, true)
	at := g.Start + unit
	for i := range g.slots {
		r := blocks.Range{Start: at, End: at + g.stride}
		if g.free>>i&1 != 0 {
			region.Add(r.Start, true)
		} else {
			w.addSlot(region, g, r, i)
		}
		at = r.End
	}
	if at < g.End {
		region.Add(at, true)
	}
}

// addSlot adds the blocks in a slot that is in use.
func (w *walk) addSlot(region *blocks.Region, g *group, r blocks.Range, number uint64) {
	s := w.read(g, r, number)
	var inner *group
	if s.state == nested {
		if inner = w.groupAt(s.Start); inner == nil || inner.mapped || inner.End > r.End || !w.isLinked(inner) {
			s.state = malformed
		}
	}
	switch s.state {
	case freed:
		region.Add(r.Start, true)
		return
	case malformed:
		w.Changing++
		region.Add(r.Start, false)
		return
	}
	if s.Start > r.Start {
		region.Add(r.Start, true)
	}
	if s.state == nested {
		w.Nested++
		w.addGroup(region, inner)
		s.End = inner.End
	} else {
		region.Add(s.Start, false)
	}
	if s.End < r.End {
		region.Add(s.End, true)
	}
}

// groupAt returns the group that begins at an address, or nil.
func (w *walk) groupAt(address uint64) *group {
	i, ok := slices.BinarySearchFunc(w.groups, address, func(g *group, a uint64) int {
		return cmp.Compare(g.Start, a)
	})
	if !ok {
		return nil
	}
	return w.groups[i]
}

// header is what precedes an address in a slot.
type header struct {
	wide     uint64 // the 32 bits before the others
	isWide   bool
	distance uint64
	index    byte // number of the slot and unused bytes
}

const (
	atDistance = 0xe0 // index of a slot whose block is not at its start
	isFreed    = 0xff // index of a block that was freed
)

func (w *walk) header(address uint64) (h header, ok bool) {
	word, ok := w.word(address - 8)
	return header{word & 0xffffffff, byte(word>>32) != 0, word >> 48, byte(word >> 40)}, ok
}

// isAt reports whether the header is that of the block at an address in a slot of a group.
func (h header) isAt(address uint64, g *group, number uint64) bool {
	want := (address - g.Start - unit) / unit
	if h.isWide {
		return h.distance == 0 && h.wide == want && uint64(h.index&31) == number
	}
	return h.distance == want && uint64(h.index&31) == number
}

// read reads the slot of a group with a number, which is in use. r is where the slot is.
func (w *walk) read(g *group, r blocks.Range, number uint64) slot {
	bad := slot{state: malformed}
	h, ok := w.header(r.Start)
	if !ok {
		return bad
	}
	start := r.Start
	if h.index == atDistance {
		if start, h, ok = w.offset(g, r, h.distance, number); !ok {
			return bad
		}
	}
	switch {
	case h.index == isFreed && h.distance == 0:
		return slot{state: freed}
	case !h.isAt(start, g, number):
		return bad
	}
	const shift, largest, stored, group = 5, 4, 5, 6
	unused := uint64(h.index >> shift)
	switch {
	case unused == group:
		return slot{blocks.Range{Start: start, End: r.End}, nested}
	case unused == stored:
		word, ok := w.word(r.End - 8)
		if unused = word & 0xffffffff; !ok || unused <= largest {
			return bad
		}
	case unused > largest:
		return bad
	}
	const last = 4 // bytes of the next slot
	if unused > r.End-last-start {
		return bad
	}
	end := (r.End - last - unused + unit - 1) &^ (unit - 1)
	return slot{blocks.Range{Start: start, End: max(end, start+unit)}, used}
}

// offset returns the address of the block in a slot, which has a distance from the start of the slot, and its
// header. The distance of a large block may lack its upper bits.
func (w *walk) offset(g *group, r blocks.Range, distance, number uint64) (start uint64, h header, ok bool) {
	const step = unit << 16
	for start = r.Start + distance*unit; start < r.End; start += step {
		h, ok = w.header(start)
		if ok && (h.index == isFreed && h.distance == 0 || h.isAt(start, g, number)) {
			return start, h, true
		}
	}
	return 0, h, false
}
