//go:build linux

package rss

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
)

// What malloc_trim leaves of the end of the main arena, and of another free chunk, which begins 16 bytes before
// its block: sizeof(struct malloc_chunk) less these.
const (
	leftAtEnd   = 33
	leftOfChunk = 48 - headerSize
	headerSize  = 16
)

// isPinned reports whether blocks hold a page: less than a tenth is in use.
func isPinned(live uint64) bool { return live > 0 && live*10 < pageSize }

// addMalloc adds the memory of malloc.
func (a *account) addMalloc(h *glibc.Heap) {
	a.Malloc = &Malloc{}
	s := sweep{account: a, cached: sorted(h.InCaches), live: sizes{}, pinned: sizes{}}
	heaps := map[*blocks.Region]bool{}
	for _, arena := range h.Arenas {
		s.addArena(arena)
		for _, r := range arena.Heaps {
			heaps[r] = true
		}
	}
	a.Malloc.Sizes, a.Malloc.Pinned.Sizes, a.Malloc.Pinned.Some = s.live.largest(), s.pinned.largest(), s.some.list
	slices.SortStableFunc(a.Malloc.Arenas, byFree)
	for _, r := range h.Blocks.Regions() {
		if !heaps[r] && !a.pools[r] {
			a.Malloc.MappedBlocks++
			a.add(Mapped, a.resident.size(r.Range))
		}
	}
}

func sorted(list []uint64) []uint64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// sweep goes over the pages of arenas by address, and over their blocks.
type sweep struct {
	*account
	arena  *Arena
	cached []uint64
	live   sizes
	pinned sizes
	some   sample // of pinned blocks

	page   page
	within blocks.Range // whole pages of the heap
	trim   ranges       // what malloc_trim returns
	end    blocks.Range // the last block, if it is the end of an arena that is not the main one
}

// page is what is known of the page at an address.
type page struct {
	at         uint64
	live, free uint64
	blocks     []blocks.Range // those in use
}

func (s *sweep) addArena(arena glibc.Arena) {
	s.arena = &Arena{Main: arena.Main}
	for i, heap := range arena.Heaps {
		s.within = blocks.Range{Start: pageEnd(heap.Start), End: pageStart(heap.End)}
		s.trim, s.end = s.trimmable(heap, arena.Main, i == 0)
		for b := range heap.All() {
			s.addBlock(b)
		}
		s.flush()
	}
	s.Malloc.Arenas = append(s.Malloc.Arenas, *s.arena)
}

// isCached reports whether a block is in the cache of a thread.
func (s *sweep) isCached(b blocks.Block) bool {
	if !b.Free {
		return false
	}
	_, found := slices.BinarySearch(s.cached, b.Start)
	return found
}

// trimmable returns the pages of a heap that malloc_trim returns, and the end of another arena than the main one.
// Free blocks that are adjacent, as in fastbins, become one.
func (s *sweep) trimmable(heap *blocks.Region, main, newest bool) (list ranges, end blocks.Range) {
	var run blocks.Range
	for b := range heap.All() {
		switch {
		case !b.Free || s.isCached(b):
			list, run = list.add(ofChunk(run)), blocks.Range{}
		case run.End != b.Start:
			run = b.Range
		default:
			run.End = b.End
		}
	}
	switch {
	case !newest:
		return list.add(ofChunk(run)), end
	case !main:
		return list, run
	case heap.End != s.heapEnd || run.Size() == 0:
		return list, end // the program has called sbrk, too: the heap does not shrink
	}
	whole := run.Size() + headerSize
	return list.add(blocks.Range{Start: run.End - pageStart(max(whole, leftAtEnd)-leftAtEnd), End: run.End}), end
}

// ofChunk returns the pages that malloc_trim returns of a free block that is not at the end.
func ofChunk(free blocks.Range) blocks.Range {
	r := blocks.Range{Start: pageEnd(free.Start + leftOfChunk), End: pageStart(free.End - min(free.End, headerSize))}
	if r.Start >= r.End {
		return blocks.Range{}
	}
	return r
}

// addBlock adds what is resident of a block.
func (s *sweep) addBlock(b blocks.Block) {
	cached := s.isCached(b)
	var bytes uint64
	for part := range s.resident.within(b.Range) {
		bytes += part.Size()
		for at := part.Start; at < part.End; {
			end := min(pageStart(at)+pageSize, part.End)
			s.addToPage(b, end-at, at, cached)
			at = end
		}
	}
	switch {
	case cached:
		s.add(Cached, bytes)
	case !b.Free:
		s.Malloc.Blocks++
		s.arena.Live += int64(bytes)
		s.add(Blocks, bytes)
		s.live.add(b.Size(), bytes, 1)
	}
}

// addToPage adds the part of a block that lies on the page of an address.
func (s *sweep) addToPage(b blocks.Block, bytes, at uint64, cached bool) {
	if pageStart(at) != s.page.at {
		s.flush()
		s.page.at = pageStart(at)
	}
	switch {
	case cached:
	case b.Free:
		s.page.free += bytes
	default:
		s.page.live += bytes
		if s.page.live*10 < pageSize {
			s.page.blocks = append(s.page.blocks, b.Range)
		}
	}
}

// flush adds the free memory of a page.
func (s *sweep) flush() {
	p := &s.page
	s.arena.Free += int64(p.free)
	switch {
	case p.free == 0:
	case s.trim.size(blocks.Range{Start: p.at, End: p.at + pageSize}) > 0:
		s.add(FreePages, p.free)
		s.arena.Trimmable += int64(p.free)
	case isPinned(p.live) && s.within.Contains(p.at):
		s.add(FreePinned, p.free)
		s.addPinned(p)
	case s.end.Contains(p.at):
		s.add(FreeEnd, p.free)
	default:
		s.add(FreeRest, p.free)
	}
	*p = page{blocks: p.blocks[:0]}
}

// addPinned adds the blocks in use on a page. A block on several pages counts where it begins.
func (s *sweep) addPinned(p *page) {
	s.Malloc.Pinned.Pages++
	s.Malloc.Pinned.Live += int64(p.live)
	on := blocks.Range{Start: p.at, End: p.at + pageSize}
	for _, b := range p.blocks {
		n := int64(0)
		if on.Contains(b.Start) {
			n = 1
			s.some.add(b.Start)
		}
		s.Malloc.Pinned.Blocks += n
		s.pinned.add(b.Size(), min(b.End, on.End)-max(b.Start, on.Start), n)
	}
}
