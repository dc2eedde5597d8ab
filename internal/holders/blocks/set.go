package blocks

import (
	"cmp"
	"fmt"
	"slices"
)

// Set has the regions of a process.
type Set struct {
	regions []*Region // by address
}

// Add adds a region, which must not overlap another.
func (s *Set) Add(r *Region) error {
	i, found := slices.BinarySearchFunc(s.regions, r, func(a, b *Region) int { return cmp.Compare(a.Start, b.Start) })
	if found || i > 0 && s.regions[i-1].End > r.Start || i < len(s.regions) && s.regions[i].Start < r.End {
		return fmt.Errorf("region %#x-%#x overlaps another", r.Start, r.End)
	}
	s.regions = slices.Insert(s.regions, i, r)
	return nil
}

// Regions returns the regions by address. The caller must not change the slice.
func (s *Set) Regions() []*Region { return s.regions }

// Region returns the region that contains an address, or nil.
func (s *Set) Region(address uint64) *Region {
	r, _ := s.Index(address)
	return r
}

// Index returns the region that contains an address and its index, or nil.
func (s *Set) Index(address uint64) (*Region, int) {
	low, high := 0, len(s.regions)
	for low < high {
		if m := (low + high) / 2; s.regions[m].End <= address {
			low = m + 1
		} else {
			high = m
		}
	}
	if low < len(s.regions) && s.regions[low].Contains(address) {
		return s.regions[low], low
	}
	return nil, 0
}

// Find returns the block that contains an address.
func (s *Set) Find(address uint64) (Block, bool) {
	r := s.Region(address)
	if r == nil {
		return Block{}, false
	}
	b, _, ok := r.Find(address)
	return b, ok
}

// SetFree says that the block that starts at an address is free. It reports whether there is such a
// block that was in use.
func (s *Set) SetFree(address uint64) bool {
	r := s.Region(address)
	return r != nil && r.SetFree(address)
}

// Gaps returns the parts of a range that no region covers.
func (s *Set) Gaps(within Range) (list []Range) {
	at := within.Start
	for _, r := range s.regions {
		if r.End <= at || r.Start >= within.End {
			continue
		}
		if r.Start > at {
			list = append(list, Range{at, r.Start})
		}
		at = r.End
	}
	if at < within.End {
		list = append(list, Range{at, within.End})
	}
	return list
}
