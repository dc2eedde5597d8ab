package glibc

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	headerSize = 16 // of a chunk
	minSize    = 32
	flags      = 7
	inUse      = 1 // the chunk before is in use
	mapped     = 2
)

// walkChunks adds the blocks of the chunks in a range, unless a chunk is malformed. The range ends with the
// chunk top, which is free, or with chunks that are too small for a block; foundTop reports which.
func (w *walk) walkChunks(r blocks.Range, top uint64) (foundTop bool, err error) {
	if r.Start+headerSize < r.Start || r.Start+headerSize > r.End {
		return false, fmt.Errorf("no room for chunks at %#x", r.Start)
	}
	region, err := blocks.NewRegion(blocks.Range{Start: r.Start + headerSize, End: r.End})
	if err != nil {
		return false, err
	}
	words := w.window(r)
	for before, chunk := uint64(0), r.Start; ; {
		word, ok := words.Word(chunk + 8)
		if !ok {
			return false, fmt.Errorf("the chunk at %#x cannot be read", chunk)
		}
		if word&inUse == 0 && before != 0 {
			region.SetFree(before + headerSize)
		}
		size := word &^ flags
		if chunk == top {
			if !region.Add(chunk+headerSize, true) {
				return false, fmt.Errorf("no room for the last chunk at %#x", chunk)
			}
			region.End = chunk + sizeOfTop(size, r.End-chunk)
			return true, w.addHeap(region)
		}
		if isFencepost(word, r.End-chunk) {
			region.End = chunk + headerSize
			return false, w.addHeap(region)
		}
		if size < minSize || size%16 != 0 || size > r.End-chunk || word&mapped != 0 ||
			!region.Add(chunk+headerSize, false) {
			return false, fmt.Errorf("the chunk at %#x has the size %#x", chunk, word)
		}
		before, chunk = chunk, chunk+size
	}
}

// sizeOfTop returns the size of the chunk top, of which rest is what is left of the heap. Its word may be wrong for a
// moment that is often long: malloc moves top, and then writes the size to a page that the kernel may have to make
// first; and it returns memory to the kernel before it writes the new size. Then top ends with the heap.
func sizeOfTop(size, rest uint64) uint64 {
	if size < minSize || size%16 != 0 || size > rest {
		return rest
	}
	return size
}

// addHeap adds the blocks of a heap to those of the arena.
func (w *walk) addHeap(region *blocks.Region) error {
	if err := w.Blocks.Add(region); err != nil {
		return err
	}
	a := &w.Arenas[len(w.Arenas)-1]
	a.Heaps = append(a.Heaps, region)
	return nil
}

// isFencepost reports whether a chunk only marks the end of a heap. rest is what is left of the heap.
func isFencepost(word, rest uint64) bool {
	return word&^flags == headerSize || word&^flags == 0 && rest == headerSize
}
