package rss

import (
	"iter"
	"sort"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	pageSize = 4096
	hugePage = 2 << 20
)

func pageStart(address uint64) uint64 { return address &^ (pageSize - 1) }
func pageEnd(address uint64) uint64   { return pageStart(address + pageSize - 1) }

// ranges are ranges of addresses that do not overlap, by address.
type ranges []blocks.Range

// add adds a range behind the others.
func (l ranges) add(r blocks.Range) ranges {
	if r.Start >= r.End {
		return l
	}
	return blocks.Join(l, r)
}

// within iterates over the parts that lie in a range.
func (l ranges) within(r blocks.Range) iter.Seq[blocks.Range] {
	return func(yield func(blocks.Range) bool) {
		for i := sort.Search(len(l), func(i int) bool { return l[i].End > r.Start }); i < len(l) && l[i].Start < r.End; i++ {
			if !yield(blocks.Range{Start: max(l[i].Start, r.Start), End: min(l[i].End, r.End)}) {
				return
			}
		}
	}
}

// size returns the bytes that lie in a range.
func (l ranges) size(r blocks.Range) (n uint64) {
	for part := range l.within(r) {
		n += part.Size()
	}
	return n
}

// and returns what is in both lists.
func (l ranges) and(other ranges) (both ranges) {
	for i, j := 0, 0; i < len(l) && j < len(other); {
		both = both.add(blocks.Range{Start: max(l[i].Start, other[j].Start), End: min(l[i].End, other[j].End)})
		if l[i].End < other[j].End {
			i++
		} else {
			j++
		}
	}
	return both
}
