package compare

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Side is one of the snapshots that are compared.
type Side struct {
	Series  *series.Series
	Symbols *symbolize.Symbols
	// Head is the snapshot, without rows.
	Head *series.Head
	// Filter keeps some stacks; nil keeps all.
	Filter *symbolize.Filter

	sites  []symbolize.SiteID // in order of appearance
	counts []heapfile.Counts  // parallel to sites, estimated
	index  map[symbolize.SiteID]int
}

// NewSide reads a snapshot of a series again and sums its rows by site.
func NewSide(s *series.Series, symbols *symbolize.Symbols, index int, filter *symbolize.Filter) (*Side, error) {
	snap, err := s.Read(index)
	if err != nil {
		return nil, err
	}
	side := &Side{Series: s, Symbols: symbols, Head: snap.Head, Filter: filter, index: map[symbolize.SiteID]int{}}
	for _, row := range snap.Samples {
		if !filter.Keep(row.Stack) {
			continue
		}
		site := symbols.Site(row.Stack)
		i, ok := side.index[site]
		if !ok {
			i = len(side.sites)
			side.index[site] = i
			side.sites, side.counts = append(side.sites, site), append(side.counts, heapfile.Counts{})
		}
		side.counts[i] = side.counts[i].Add(snap.Estimate(row))
	}
	return side, nil
}

// Counts returns the counts of a site, zero where it is absent.
func (s *Side) Counts(site symbolize.SiteID) heapfile.Counts {
	if i, ok := s.index[site]; ok {
		return s.counts[i]
	}
	return heapfile.Counts{}
}

// Stack returns a representative stack of a site.
func (s *Side) Stack(site symbolize.SiteID) []symbolize.LocationID {
	return s.Symbols.Stack(s.Symbols.SiteStack(site))
}

// Shown returns the sum of the sites.
func (s *Side) Shown() (c heapfile.Counts) {
	for _, n := range s.counts {
		c = c.Add(n)
	}
	return c
}

// Empty reports whether a filter dropped all sites.
func (s *Side) Empty() bool { return s.Filter != nil && len(s.sites) == 0 }

// Hidden returns what the header counts and no row shows: zero for a complete snapshot, and under a
// filter.
func (s *Side) Hidden() heapfile.Counts {
	if s.Filter != nil {
		return heapfile.Counts{}
	}
	return s.Head.Heap().Sub(s.Shown())
}

// exact reports whether the snapshot shows every allocated object: with cumulative counts, neither
// sampled nor truncated.
func (s *Side) exact() bool {
	return s.Head.HasAlloc && !s.Head.IsEstimate() && s.Head.Completeness.AbsentMax == heapfile.Counts{}
}

// largestFirst sorts sites by their bytes in use.
func (s *Side) largestFirst(sites []symbolize.SiteID) {
	slices.SortStableFunc(sites, func(a, b symbolize.SiteID) int {
		return cmp.Compare(s.Counts(b).InuseBytes, s.Counts(a).InuseBytes)
	})
}
