package series

import (
	"cmp"
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/mappings"
)

// AddressSpace is the union of the mappings of the snapshots of a [Space]. It includes libraries
// that were unloaded again.
type AddressSpace struct {
	Image int
	// Mappings are the executable mappings, by start address. They may overlap (macOS).
	Mappings []heapfile.Mapping
}

// spaces follows the process images and mappings through a series.
type spaces struct {
	list     []AddressSpace
	image    int
	previous *Head
	maps     []heapfile.Mapping // of the previous snapshot that has any
}

// next returns the space of the snapshot that follows and sets its Image.
func (sp *spaces) next(s *Head, maps []heapfile.Mapping) Space {
	if sp.previous == nil {
		sp.list = append(sp.list, AddressSpace{})
	} else if sp.newImage(s, maps) {
		sp.image++
		sp.list = append(sp.list, AddressSpace{Image: sp.image})
		sp.maps = nil
	}
	s.Image = sp.image
	sp.include(maps)
	sp.previous = s
	if len(maps) > 0 { // an unfinished snapshot has none
		sp.maps = maps
	}
	return Space(len(sp.list) - 1)
}

// newImage reports whether a snapshot is of another process image than the previous one: its
// program or loader is mapped elsewhere, or its cumulative count is lower. If only the count is
// lower, a forked child overwrote its parent's file (or the process restarted without address space
// randomization).
func (sp *spaces) newImage(s *Head, maps []heapfile.Mapping) bool {
	// Compare estimates: jemalloc's raw counts may fall while the estimates rise.
	p := sp.previous
	fell := p.HasAlloc && s.HasAlloc && s.Heap().AllocBytes < p.Heap().AllocBytes
	return fell || mappings.Moved(sp.maps, maps)
}

// include adds the executable mappings of a snapshot to the current space. If an address range
// belongs to another file now, a new space begins.
func (sp *spaces) include(maps []heapfile.Mapping) {
	if slices.Equal(maps, sp.maps) {
		return
	}
	current := &sp.list[len(sp.list)-1]
	added := mappings.Added(current.Mappings, maps)
	if kept := mappings.WithoutReplaced(current.Mappings, added); len(kept) < len(current.Mappings) {
		sp.list = append(sp.list, AddressSpace{Image: sp.image, Mappings: kept})
		current = &sp.list[len(sp.list)-1]
	}
	if len(added) > 0 {
		current.Mappings = append(current.Mappings, added...)
		slices.SortStableFunc(current.Mappings, byStart)
	}
}

func byStart(a, b heapfile.Mapping) int { return cmp.Compare(a.Start, b.Start) }

// Images yields the first and the last snapshot of each process image among the snapshots from
// index from to index to (exclusive).
func (s *Series) Images(from, to int) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for begin := from; begin < to; {
			end := begin
			for end < to && s.Heads[end].Image == s.Heads[begin].Image {
				end++
			}
			if !yield(begin, end-1) {
				return
			}
			begin = end
		}
	}
}
