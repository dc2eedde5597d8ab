package blocks

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sort"
)

// Block is a block of memory.
type Block struct {
	Range
	Free bool
}

const (
	slotSize = 16
	// Slots of a page: 16 KiB.
	pageWords = 16
	pageSlots = pageWords * 64
	// MaxRegion is the size of the largest region. The array of pages of such a region takes 64 MiB.
	MaxRegion = 64 << 30
)

// Region is a range of addresses that is filled by blocks, from the first that is added on.
type Region struct {
	Range
	pages []page
	n     int
	last  int // the slot of the last block, or -1
}

// page has the blocks that start in 16 KiB.
type page struct {
	bits   *[2][pageWords]uint64 // starts, and which of these are free; nil if none starts here
	before uint32                // number of blocks before the page
	latest uint32                // slot of the last of them, if there is one
}

// ErrLimit is returned for a region that is too large.
var ErrLimit = errors.New("too large")

// NewRegion returns a region without blocks.
func NewRegion(r Range) (*Region, error) {
	if r.Start%slotSize != 0 || r.End < r.Start {
		return nil, fmt.Errorf("malformed region %#x-%#x", r.Start, r.End)
	}
	if r.Size() > MaxRegion {
		return nil, fmt.Errorf("region %#x-%#x: %w", r.Start, r.End, ErrLimit)
	}
	slots := (r.Size() + slotSize - 1) / slotSize
	return &Region{Range: r, pages: make([]page, (slots+pageSlots-1)/pageSlots), last: -1}, nil
}

// Add adds a block that starts at an address. It ends where the next one starts, or at the end of the
// region. It reports whether the address is a multiple of 16 in the region and higher than that of the last block.
func (r *Region) Add(address uint64, free bool) bool {
	if !r.Contains(address) || address%slotSize != 0 {
		return false
	}
	slot := int((address - r.Start) / slotSize)
	if slot <= r.last {
		return false
	}
	if r.last >= 0 {
		r.fill(r.last/pageSlots+1, slot/pageSlots)
	}
	p := &r.pages[slot/pageSlots]
	if p.bits == nil {
		p.bits = new([2][pageWords]uint64)
	}
	i, bit := slot%pageSlots/64, uint64(1)<<(slot%64)
	p.bits[0][i] |= bit
	if free {
		p.bits[1][i] |= bit
	}
	r.n, r.last = r.n+1, slot
	return true
}

// fill tells pages what is before them.
func (r *Region) fill(from, to int) {
	for i := from; i <= to; i++ {
		r.pages[i].before, r.pages[i].latest = uint32(r.n), uint32(r.last)
	}
}

// Len returns the number of blocks.
func (r *Region) Len() int { return r.n }

// locate returns the slot of the last block that starts at or before a slot, and its number.
func (r *Region) locate(slot int) (start, number int, ok bool) {
	if r.last < 0 {
		return 0, 0, false
	}
	if slot >= r.last {
		return r.last, r.n - 1, true
	}
	p := &r.pages[slot/pageSlots]
	if p.bits == nil {
		return int(p.latest), int(p.before) - 1, p.before > 0
	}
	at := slot % pageSlots / 64
	starts := p.bits[0][:at+1]
	number = int(p.before) - 1
	for _, w := range starts[:at] {
		number += bits.OnesCount64(w)
	}
	w := starts[at] << (63 - slot%64)
	number += bits.OnesCount64(w)
	if w != 0 {
		return slot - bits.LeadingZeros64(w), number, true
	}
	for at--; at >= 0; at-- {
		if w := starts[at]; w != 0 {
			return slot/pageSlots*pageSlots + at*64 + 63 - bits.LeadingZeros64(w), number, true
		}
	}
	return int(p.latest), number, number >= 0
}

// next returns the slot of the first block after a slot, or -1.
func (r *Region) next(slot int) int {
	if slot >= r.last {
		return -1
	}
	for slot++; ; slot = slot/64*64 + 64 {
		p := &r.pages[slot/pageSlots]
		if p.bits == nil {
			slot = slot/pageSlots*pageSlots + pageSlots - 64
			continue
		}
		if w := p.bits[0][slot%pageSlots/64] >> (slot % 64); w != 0 {
			return slot + bits.TrailingZeros64(w)
		}
	}
}

func (r *Region) address(slot int) uint64 { return r.Start + uint64(slot)*slotSize }

func (r *Region) isFree(slot int) bool {
	return r.pages[slot/pageSlots].bits[1][slot%pageSlots/64]>>(slot%64)&1 != 0
}

func (r *Region) block(slot int) Block {
	b := Block{Range{r.address(slot), r.End}, r.isFree(slot)}
	if next := r.next(slot); next >= 0 {
		b.End = r.address(next)
	}
	return b
}

// Locate returns the start of the block in use that contains an address, and its number from 0 on. It is
// faster than Find.
func (r *Region) Locate(address uint64) (start uint64, number int, ok bool) {
	if !r.Contains(address) {
		return 0, 0, false
	}
	slot, number, ok := r.locate(int((address - r.Start) / slotSize))
	if !ok || r.isFree(slot) {
		return 0, 0, false
	}
	return r.address(slot), number, true
}

// Number returns the block with a number less than Len.
func (r *Region) Number(n int) Block {
	if slot := r.slot(n); slot >= 0 {
		return r.block(slot)
	}
	return Block{}
}

// slot returns the slot of the block with a number, or -1.
func (r *Region) slot(n int) int {
	// The last page that has no more than n blocks before it. Pages behind the last block are not filled in.
	pages := r.pages[:r.last/pageSlots+1]
	i := sort.Search(len(pages), func(i int) bool { return int(pages[i].before) > n }) - 1
	n -= int(pages[i].before)
	for w, word := range pages[i].bits[0] {
		count := bits.OnesCount64(word)
		if n >= count {
			n -= count
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return i*pageSlots + w*64 + bits.TrailingZeros64(word)
	}
	return -1
}

// Find returns the block that contains an address, and its number from 0 on.
func (r *Region) Find(address uint64) (b Block, number int, ok bool) {
	if !r.Contains(address) {
		return b, 0, false
	}
	slot, number, ok := r.locate(int((address - r.Start) / slotSize))
	if !ok {
		return b, 0, false
	}
	return r.block(slot), number, true
}

// SetFree says that the block that starts at an address is free. It reports whether there is such a
// block that was in use.
func (r *Region) SetFree(address uint64) bool {
	if !r.Contains(address) || address%slotSize != 0 {
		return false
	}
	slot := int((address - r.Start) / slotSize)
	p := &r.pages[slot/pageSlots]
	if p.bits == nil {
		return false
	}
	i, bit := slot%pageSlots/64, uint64(1)<<(slot%64)
	if p.bits[0][i]&bit == 0 || p.bits[1][i]&bit != 0 {
		return false
	}
	p.bits[1][i] |= bit
	return true
}

// All iterates over the blocks by their addresses.
func (r *Region) All() iter.Seq[Block] { return r.From(0) }

// From iterates over the blocks by their addresses, from the block with a number on.
func (r *Region) From(n int) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		if n >= r.n {
			return
		}
		for slot := r.slot(n); slot >= 0; {
			b := Block{Range{r.address(slot), r.End}, r.isFree(slot)}
			if slot = r.next(slot); slot >= 0 {
				b.End = r.address(slot)
			}
			if !yield(b) {
				return
			}
		}
	}
}
