package glibc

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// cache is the layout of struct tcache_perthread_struct, the cache of a thread: counters, followed by the
// heads of lists. From 2.42 on the counters tell how many blocks are still taken, and the last 12 lists
// have larger blocks of different sizes.
type cache struct {
	counter int // bytes of each
	lists   int
	counted bool // a list is empty if and only if its counter is 0
}

const (
	sameSize    = 64        // lists of blocks of one size
	largerBlock = 1040 + 16 // the least size of a chunk in the others
)

var caches = []cache{
	{1, 64, true},  // 2.26 to 2.29
	{2, 64, true},  // 2.30 to 2.41
	{2, 76, false}, // from 2.42 on
}

func (c cache) heads() int { return c.counter * c.lists }
func (c cache) size() int  { return c.heads() + 8*c.lists }

// chunk returns the size of the chunk that has the structure. It may be 16 bytes larger, if less would have
// been left.
func (c cache) chunk() uint64 { return uint64(c.size()+8+15) &^ 15 }

// freeLists marks the blocks in the caches of threads and in fastbins as free.
func (w *walk) freeLists(arenas []arena) {
	for _, a := range arenas {
		w.freeFastbins(a)
	}
	for _, r := range w.Blocks.Regions() {
		if r.Len() == 1 {
			continue // a large block
		}
		for b := range r.All() {
			if !b.Free {
				w.freeCache(b)
			}
		}
	}
}

// freeFastbins marks the blocks in fastbins. From 2.43 on there are none, and the words are something else, such
// as a lock: then they are no addresses of chunks.
func (w *walk) freeFastbins(a arena) {
	var heads [8 * fastbins]byte
	if w.Memory.Read(a.top-toFastbins, heads[:]) != nil {
		return // there is nothing before a heap
	}
	for i := range fastbins {
		size := uint64(minSize + 16*i)
		head := binary.LittleEndian.Uint64(heads[8*i:]) + headerSize
		if !w.isBlock(head, size, true) {
			continue
		}
		// It is the address of the header, which counts as a part of the block before: that would be held.
		at := a.top - toFastbins + 8*uint64(i)
		w.Own = append(w.Own, blocks.Range{Start: at, End: at + 8})
		w.Cached += len(w.freeList(head, size, true, headerSize))
	}
}

// freeCache marks the blocks in the cache of a thread, if the block is one.
func (w *walk) freeCache(b blocks.Block) {
	for _, c := range caches {
		if extra := b.Size() - c.chunk(); extra != 0 && extra != 16 {
			continue
		}
		content := make([]byte, c.size())
		if w.Memory.Read(b.Start, content) != nil || !w.isCache(c, content) {
			continue
		}
		w.Caches++
		for i := range c.lists {
			if head := c.head(content, i); head != 0 {
				list := w.freeList(head, blockSize(i), i < sameSize, 0)
				w.Cached, w.InCaches = w.Cached+len(list), append(w.InCaches, list...)
			}
		}
		return
	}
}

func (c cache) head(content []byte, i int) uint64 {
	return binary.LittleEndian.Uint64(content[c.heads()+8*i:])
}

// blockSize returns the size of the chunks in a list of a cache, or the least size.
func blockSize(list int) uint64 {
	if list < sameSize {
		return uint64(minSize + 16*list)
	}
	return largerBlock
}

// isCache reports whether all lists begin with blocks in use of the right size, and at least one is not
// empty. The thread may have been stopped while it changed one list.
func (w *walk) isCache(c cache, content []byte) bool {
	some, changing := false, 0
	for i := range c.lists {
		head := c.head(content, i)
		count := int(content[i*c.counter])
		if c.counter == 2 {
			count |= int(content[2*i+1]) << 8
		}
		if head != 0 && !w.isBlock(head, blockSize(i), i < sameSize) {
			return false
		}
		if c.counted && (head == 0) != (count == 0) {
			changing++
		}
		some = some || head != 0
	}
	return some && changing <= 1
}

// isBlock reports whether a block in use with a chunk of a size, or of at least that size, starts at an
// address.
func (w *walk) isBlock(address, size uint64, exact bool) bool {
	b, ok := w.Blocks.Find(address)
	return ok && b.Start == address && !b.Free && (b.Size() == size || !exact && b.Size() > size)
}

// freeList marks the blocks in a list as free, and returns them. Links point offset bytes before
// a block. Each block is marked once, so that the loop ends.
func (w *walk) freeList(block, size uint64, exact bool, offset uint64) (list []uint64) {
	for block != 0 {
		if !w.isBlock(block, size, exact) {
			w.problem("a list of free blocks of %d bytes leads to %#x", size, block)
			return list
		}
		w.Blocks.SetFree(block)
		list = append(list, block)
		var b [8]byte
		if w.Memory.Read(block, b[:]) != nil {
			w.problem("the free block at %#x cannot be read", block)
			return list
		}
		block = w.next(block, binary.LittleEndian.Uint64(b[:]), size, exact, offset)
	}
	return list
}

// next returns the block that follows in a list, or 0. The link is combined with its own address from 2.32 on.
func (w *walk) next(block, link, size uint64, exact bool, offset uint64) uint64 {
	plain := link ^ block>>12
	switch {
	case plain == 0, link == 0 && !w.isBlock(plain+offset, size, exact):
		return 0
	case !w.isBlock(plain+offset, size, exact) && w.isBlock(link+offset, size, exact):
		return link + offset
	}
	return plain + offset
}
