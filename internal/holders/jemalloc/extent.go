package jemalloc

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// element is an element of a leaf of the tree.
type element uint64

func (e element) extent() uint64 { return uint64(e) & (1<<48 - 1) &^ (extentAlign - 1) }
func (e element) class() int     { return int(e >> 48) }
func (e element) isSlab() bool   { return e&1 != 0 }

// extent is memory of whole pages.
type extent struct {
	blocks.Range
	at    uint64 // address of the structure
	block uint64 // start of a large block
	bits  uint64
	class int
	slab  bool
	used  bool
	free  []uint64 // bits of the free regions of a slab, and of a large block
}

const (
	extentSize = 128
	// extentAlign is the alignment of extents in 5.2. In 5.3 they are at multiples of 128, and elements have flags
	// below.
	extentAlign = 64
	addressAt   = 8
	sizeAt      = 16
	slabBit     = 12
)

// readExtent reads the extent that an element leads to.
func (w *walk) readExtent(e element) (extent, bool) {
	at := e.extent()
	address, size := w.reader.Word(at+addressAt), w.reader.Word(at+sizeAt)&^(pageSize-1)
	start := address &^ (pageSize - 1)
	x := extent{
		Range: blocks.Range{Start: start, End: start + size}, at: at, block: address,
		bits: w.reader.Word(at), class: e.class(), slab: e.isSlab(),
	}
	ok := at != 0 && start != 0 && size != 0 &&
		start < blocks.Topmost && size < blocks.Topmost && x.End < blocks.Topmost
	return x, ok && w.isAnonymous(blocks.Range{Start: at, End: at + extentSize})
}

// layout tells where the parts of an extent are.
type layout struct {
	state, class, free int // shifts in the bits
	states             uint64
	bitmap             int // offset in the structure
}

var layouts = []layout{
	{state: 17, class: 20, free: 28, states: 7}, // 5.3
	{state: 16, class: 18, free: 26, states: 3}, // 5.2
}

func (l layout) isActive(x *extent) bool {
	return x.bits>>l.state&l.states == 0 && x.class < len(classes)
}
func (l layout) classOf(x *extent) int { return int(x.bits >> l.class & 0xff) }
func (l layout) freeOf(x *extent) int  { return int(x.bits >> l.free & 0x3ff) }

// regions returns the number of regions of a slab.
func (x *extent) regions() int { return int(x.Size() / classes[x.class]) }

// isSound reports whether the structure says the same as the tree, and the blocks fit in.
func (l layout) isSound(x *extent) bool {
	if l.classOf(x) != x.class || x.slab != (x.bits>>slabBit&1 != 0) {
		return false
	}
	if x.slab {
		n := x.regions()
		return x.class < smallClasses && x.block == x.Start && n > 0 && n <= maxRegions && l.freeOf(x) <= n
	}
	return x.block%quantum == 0 && x.block < x.End
}

// maxRegions is the largest number of regions of a slab.
const maxRegions = 512

// errLayout is returned if extents are not as in a known version.
var errLayout = errors.New("the structures of jemalloc's extents are not those of a known version")

// readSlabs finds out the layout of extents, and reads which regions of slabs are free.
func (w *walk) readSlabs() error {
	if !w.findLayout() {
		return errLayout
	}
	for i := range w.extents {
		x := &w.extents[i]
		if !w.layout.isActive(x) {
			continue
		}
		if !w.layout.isSound(x) || !w.isAnonymous(x.Range) {
			w.problem("the extent at %#x is malformed", x.Start)
			continue
		}
		x.used = true
		if !x.slab {
			w.Large++
			x.free = make([]uint64, 1)
			continue
		}
		w.Slabs++
		var n int
		if x.free, n = w.readBitmap(x, w.layout.bitmap); n != w.layout.freeOf(x) {
			w.problem("the slab at %#x was being changed", x.Start)
		}
	}
	return nil
}

// findLayout finds the layout with which most extents agree.
func (w *walk) findLayout() bool {
	best := -1
	for _, l := range layouts {
		n := 0
		for i := range w.extents {
			if x := &w.extents[i]; l.isActive(x) && l.isSound(x) {
				n++
			}
		}
		if n > best {
			best, w.layout = n, l
		}
	}
	return best > 0 && w.findBitmap()
}

// findBitmap finds the only offset at which the bits of nearly all slabs are as many as these have free regions. A
// thread may have been stopped while it changed a slab.
func (w *walk) findBitmap() bool {
	const first = 24
	least, again := len(w.Threads)+1, false
	for offset := first; offset < extentSize; offset += 8 {
		wrong := 0
		for i := range w.extents {
			x := &w.extents[i]
			if !x.slab || !w.layout.isActive(x) || !w.layout.isSound(x) {
				continue
			}
			if _, n := w.readBitmap(x, offset); n != w.layout.freeOf(x) {
				if wrong++; wrong > least {
					break
				}
			}
		}
		if wrong < least {
			least, again, w.layout.bitmap = wrong, false, offset
		} else if wrong == least {
			again = again || w.differ(offset, w.layout.bitmap)
		}
	}
	return w.layout.bitmap != 0 && !again
}

// differ reports whether the bits at two offsets tell different regions of a slab to be free. Where all slabs are full,
// many offsets have no bit.
func (w *walk) differ(a, b int) bool {
	return slices.ContainsFunc(w.extents, func(x extent) bool {
		if !x.slab || !w.layout.isActive(&x) || !w.layout.isSound(&x) {
			return false
		}
		inA, _ := w.readBitmap(&x, a)
		inB, _ := w.readBitmap(&x, b)
		return !slices.Equal(inA, inB)
	})
}

// readBitmap reads the bits of a slab, and returns their number, or -1 if there is none at the offset.
func (w *walk) readBitmap(x *extent, offset int) (list []uint64, n int) {
	regions := x.regions()
	words := (regions + 63) / 64
	if offset+8*words > extentSize {
		return nil, -1
	}
	b := w.reader.Bytes(x.at+uint64(offset), 8*words)
	list = make([]uint64, words)
	for i := range len(b) / 8 {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
		n += bits.OnesCount64(list[i])
	}
	if rest := regions % 64; rest != 0 && list[words-1]>>rest != 0 {
		return list, -1
	}
	return list, n
}
