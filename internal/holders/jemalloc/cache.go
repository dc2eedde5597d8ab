package jemalloc

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// bin leads to a stack of free blocks of one size class. The stack has their addresses from head to end, and has room
// from low on, which is 0 if that is not known.
type bin struct{ low, head, end uint64 }

const (
	binSize  = 24
	maxStack = 1 << 16 // bytes of a stack
	maxLocal = 1 << 20 // bytes of thread-local memory that are searched
	// preceding is what is before the first stack of a cache from 5.3 on.
	preceding = 0x7a7a7a7a7a7a7a7a
	// smallGap is the most between the bins of small classes and those of large ones in 5.2.
	smallGap = 512
)

// form is the form of the bins of a cache.
type form struct {
	read func(b []byte) (bin, bool)
	// follows reports whether the stack of a bin is behind that of another.
	follows func(b, before bin) bool
	// split reports whether the bins of large classes are elsewhere.
	split bool
}

var forms = []form{
	{read: readNew, follows: func(b, before bin) bool { return b.low == before.end }},
	{
		read: readOld,
		follows: func(b, before bin) bool {
			return b.head >= before.end && b.end > before.end && b.end-before.end <= maxStack
		},
		split: true,
	},
}

// readNew reads a bin of 5.3. Of the start and the end of the stack, it has the low bits.
func readNew(b []byte) (bin, bool) {
	head := binary.LittleEndian.Uint64(b)
	full, empty := binary.LittleEndian.Uint16(b[18:]), binary.LittleEndian.Uint16(b[20:])
	low, end := head-uint64(uint16(head)-full), head+uint64(empty-uint16(head))
	return bin{low, head, end}, head != 0 && head%8 == 0 && low%8 == 0 && end%8 == 0 && low < end && end-low <= maxStack
}

// readOld reads a bin of 5.2.
func readOld(b []byte) (bin, bool) {
	water, n := int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))
	end := binary.LittleEndian.Uint64(b[16:])
	if n < 0 || n >= maxStack/8 || water < -1 || water > n || end%8 != 0 || end < maxStack || end >= blocks.Topmost {
		return bin{}, false
	}
	return bin{head: end - 8*uint64(n), end: end}, true
}

// chain reads bins whose stacks follow each other.
func (f form) chain(b []byte) (list []bin) {
	for ; len(b) >= binSize && len(list) < len(classes); b = b[binSize:] {
		next, ok := f.read(b)
		if !ok || len(list) > 0 && !f.follows(next, list[len(list)-1]) {
			break
		}
		list = append(list, next)
	}
	return list
}

// findCaches marks the blocks in the caches of threads as free. Threads that never used the allocator have zeros at the
// same place.
func (w *walk) findCaches() {
	var without []Thread
	places := map[uint64]bool{} // before the thread pointer
	for _, t := range w.Threads {
		place, ok := w.findCache(t)
		if !ok {
			without = append(without, t)
			continue
		}
		w.Caches++
		places[place] = true
	}
	if len(places) == 0 {
		w.problem("no cache of a thread was found")
		return
	}
	for _, t := range without {
		for place := range places {
			if !w.isZero(t.Pointer - place) {
				w.problem("the cache of the thread with thread pointer %#x was not found", t.Pointer)
				break
			}
		}
	}
}

// isZero reports whether there are no bins at an address.
func (w *walk) isZero(address uint64) bool {
	b := make([]byte, smallClasses*binSize)
	if w.Memory.Read(address, b) != nil {
		return false
	}
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// findCache searches the cache of a thread, and returns its distance from the thread pointer.
func (w *walk) findCache(t Thread) (place uint64, ok bool) {
	for _, r := range t.Local {
		if r.End < r.Start || r.Size() > maxLocal {
			continue
		}
		start := (r.Start + 7) &^ 7
		b := make([]byte, r.End-min(r.End, start))
		if w.Memory.Read(start, b) != nil {
			continue
		}
		w.addLookups(start, b)
		for i := 0; !ok && i+binSize <= len(b); i += 8 {
			if ok = w.cacheIn(b[i:]); ok {
				place = t.Pointer - start - uint64(i)
			}
		}
	}
	return place, ok
}

// addLookups adds what a thread has remembered of the tree, because it found an extent there: the first address that a
// leaf is for, and the leaf. A block may begin at that address.
func (w *walk) addLookups(start uint64, local []byte) {
	const lookup, covered = 16, perNode * pageSize
	for i := 0; i+lookup <= len(local); i += 8 {
		first, leaf := binary.LittleEndian.Uint64(local[i:]), binary.LittleEndian.Uint64(local[i+8:])
		if first != 0 && first%covered == 0 && w.leaves[leaf] {
			at := start + uint64(i)
			w.Own = append(w.Own, blocks.Range{Start: at, End: at + lookup})
		}
	}
}

// cacheIn marks the blocks of the cache with which thread-local memory begins, if it does.
func (w *walk) cacheIn(b []byte) bool {
	for _, f := range forms {
		list := f.chain(b)
		if len(list) < smallClasses || f.split && len(list) != smallClasses || !w.isStack(list) {
			continue
		}
		if f.split {
			list = w.addLargeBins(f, list, b[smallClasses*binSize:])
		}
		w.release(list)
		return true
	}
	return false
}

// isStack reports whether stacks lie in one block. From 5.3 on they may also lie in other memory, and follow a mark.
func (w *walk) isStack(list []bin) bool {
	first, last := list[0], list[len(list)-1]
	if first.low != 0 {
		return w.reader.Word(first.low-8) == preceding
	}
	x := w.extentOf(first.end - 8)
	return x != nil && x == w.extentOf(last.end-8) && w.regionOf(x, first.end-8) == w.regionOf(x, last.end-8)
}

// regionOf returns the number of the region of an address in an extent.
func (w *walk) regionOf(x *extent, address uint64) int {
	if !x.slab {
		return 0
	}
	return int((address - x.Start) / classes[x.class])
}

// addLargeBins adds the bins of large classes, which come after other members of the cache in 5.2.
func (w *walk) addLargeBins(f form, list []bin, rest []byte) []bin {
	last := list[len(list)-1]
	for i := 0; i < smallGap && i+binSize <= len(rest); i += 8 {
		more := f.chain(rest[i:])
		if len(more) > 0 && f.follows(more[0], last) && w.isStack([]bin{last, more[len(more)-1]}) {
			return append(list, more...)
		}
	}
	return list
}

// release marks the blocks of a cache as free, and the block that has the stacks.
func (w *walk) release(list []bin) {
	if x := w.extentOf(list[0].end - 8); x != nil {
		if region := w.regionOf(x, list[0].end-8); region < 64*len(x.free) {
			x.setFree(region)
		}
	}
	for class, b := range list {
		content := make([]byte, b.end-b.head)
		if w.Memory.Read(b.head, content) != nil {
			w.problem("the cache at %#x cannot be read", b.head)
			return
		}
		for ; len(content) > 0; content = content[8:] {
			if !w.releaseBlock(binary.LittleEndian.Uint64(content), class) {
				w.problem("a cache of blocks of %d bytes has %#x", classes[class], binary.LittleEndian.Uint64(content))
				return
			}
		}
	}
}

// releaseBlock marks a block as free. It reports whether there is a block of the class at the address.
func (w *walk) releaseBlock(address uint64, class int) bool {
	x := w.extentOf(address)
	if x == nil || x.class != class {
		return false
	}
	region, ok := x.find(address)
	if ok && !x.isFree(region) { // the thread may return it to the slab
		x.setFree(region)
		w.Cached++
	}
	return ok
}
