package jemalloc

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	// leastCreated is less than the size of a block with a cache that a program has created (mallctl "tcache.create").
	leastCreated = 8 << 10
	// beforeBins is what a struct tcache_s has before its bins in 5.2.
	beforeBins = 16
)

// findCreated marks the blocks in the caches that the program has created. Such a cache is one block with stacks and
// bins: in 5.3 the stacks come first, in 5.2 the bins.
func (w *walk) findCreated() {
	for i := range w.extents {
		x := &w.extents[i]
		if !x.used || classes[x.class] < leastCreated {
			continue
		}
		if !x.slab {
			w.findCreatedIn(x, blocks.Range{Start: x.block, End: x.End})
			continue
		}
		size := classes[x.class]
		for at := x.Start; x.End-at >= size; at += size {
			w.findCreatedIn(x, blocks.Range{Start: at, End: at + size})
		}
	}
}

// findCreatedIn marks the blocks of a cache, if there is one in a block.
func (w *walk) findCreatedIn(x *extent, b blocks.Range) {
	if region, ok := x.find(b.Start); !ok || x.isFree(region) || b.Size() > maxLocal {
		return
	}
	content := make([]byte, min(b.Size(), leastCreated))
	if w.Memory.Read(b.Start, content) != nil {
		return
	}
	if w.cacheIn(content[beforeBins:]) {
		w.Caches++
		return
	}
	if binary.LittleEndian.Uint64(content) != preceding {
		return
	}
	if content = make([]byte, b.Size()); w.Memory.Read(b.Start, content) == nil {
		for i := 0; i+binSize <= len(content); i += 8 {
			if w.cacheIn(content[i:]) {
				w.Caches++
				return
			}
		}
	}
	w.problem("the block at %#x has a cache without bins", b.Start)
}
