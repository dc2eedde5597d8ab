package rss

import (
	"slices"
	"sort"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// claim says what memory is.
type claim struct {
	blocks.Range
	kind Kind
}

// claims do not overlap, and are sorted by address.
type claims []claim

// add adds the parts of a range that are not claimed yet.
func (c *claims) add(r blocks.Range, kind Kind) {
	at := r.Start
	i := sort.Search(len(*c), func(i int) bool { return (*c)[i].End > r.Start })
	for ; at < r.End; i++ {
		end := r.End
		if i < len(*c) {
			end = min(end, (*c)[i].Start)
		}
		if at < end {
			*c = slices.Insert(*c, i, claim{blocks.Range{Start: at, End: end}, kind})
			i++
		}
		if i >= len(*c) {
			return
		}
		at = max(at, (*c)[i].End)
	}
}

// divide calls a function for each part of a range, with its kind, or "" if it is not claimed.
func (c claims) divide(r blocks.Range, f func(blocks.Range, Kind)) {
	at := r.Start
	for i := sort.Search(len(c), func(i int) bool { return c[i].End > r.Start }); at < r.End; i++ {
		start, end := r.End, r.End
		if i < len(c) {
			start, end = min(c[i].Start, r.End), min(c[i].End, r.End)
		}
		if at < start {
			f(blocks.Range{Start: at, End: start}, "")
		}
		if at = max(at, start); at < end {
			f(blocks.Range{Start: at, End: end}, c[i].kind)
		}
		at = end
	}
}
