package series

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
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
func (sp *spaces) next(s *Head, mappings []heapfile.Mapping) Space {
	if sp.previous == nil {
		sp.list = append(sp.list, AddressSpace{})
	} else if sp.newImage(s, mappings) {
		sp.image++
		sp.list = append(sp.list, AddressSpace{Image: sp.image})
		sp.maps = nil
	}
	s.Image = sp.image
	sp.include(mappings)
	sp.previous = s
	if len(mappings) > 0 { // an unfinished snapshot has none
		sp.maps = mappings
	}
	return Space(len(sp.list) - 1)
}

// newImage reports whether a snapshot is of another process image than the previous one: its
// program or loader is mapped elsewhere, or its cumulative count is lower. If only the count is
// lower, a forked child overwrote its parent's file (or the process restarted without address space
// randomization).
func (sp *spaces) newImage(s *Head, mappings []heapfile.Mapping) bool {
	// Compare estimates: jemalloc's raw counts may fall while the estimates rise.
	p := sp.previous
	fell := p.HasAlloc && s.HasAlloc && s.Heap().AllocBytes < p.Heap().AllocBytes
	return fell || anchorsMoved(sp.maps, mappings)
}

// anchorsMoved reports whether the program or the dynamic loader is mapped elsewhere. Both stay in
// place as long as a process image lives.
func anchorsMoved(a, b []heapfile.Mapping) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	programA, loaderA := anchors(a)
	programB, loaderB := anchors(b)
	return differ(programA, programB) || differ(loaderA, loaderB)
}

func differ(a, b heapfile.Mapping) bool {
	return a.Path != "" && b.Path != "" && (a.Start-a.Offset != b.Start-b.Offset || a.Path != b.Path)
}

// anchors returns the first mapping of the program, which comes first in
// /proc/PID/maps, and of the dynamic loader.
func anchors(maps []heapfile.Mapping) (program, loader heapfile.Mapping) {
	for _, m := range maps {
		if !strings.HasPrefix(m.Path, "/") {
			continue
		}
		if program.Path == "" {
			program = m
		}
		if isLoader(path.Base(m.Path)) {
			return program, m
		}
	}
	return program, loader
}

// isLoader recognizes ld-linux-x86-64.so.2, ld-2.31.so, ld-musl-x86_64.so.1 and ld.so.1. It
// excludes ld.so.cache, which the loader maps anywhere while it looks for a library.
func isLoader(base string) bool {
	return strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.so") && base != "ld.so.cache"
}

// include adds the executable mappings of a snapshot to the current space. If an address range
// belongs to another file now, a new space begins.
func (sp *spaces) include(maps []heapfile.Mapping) {
	if slices.Equal(maps, sp.maps) {
		return
	}
	current := &sp.list[len(sp.list)-1]
	added := newMappings(current.Mappings, maps)
	if kept := withoutReplaced(current.Mappings, added); len(kept) < len(current.Mappings) {
		sp.list = append(sp.list, AddressSpace{Image: sp.image, Mappings: kept})
		current = &sp.list[len(sp.list)-1]
	}
	if len(added) > 0 {
		current.Mappings = append(current.Mappings, added...)
		slices.SortStableFunc(current.Mappings, byStart)
	}
}

func byStart(a, b heapfile.Mapping) int { return cmp.Compare(a.Start, b.Start) }

// newMappings returns the executable mappings that are not known, each once.
func newMappings(known, maps []heapfile.Mapping) (added []heapfile.Mapping) {
	seen := make(map[heapfile.Mapping]bool, len(known))
	for _, m := range known {
		seen[m] = true
	}
	for _, m := range maps {
		if m.Executable() && !seen[m] && m.Limit > m.Start {
			seen[m] = true
			added = append(added, m)
		}
	}
	return added
}

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
