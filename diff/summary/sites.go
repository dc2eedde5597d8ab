package summary

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
)

const (
	// leastShare is the share of the heap's peak, or of all allocated bytes, that a site must reach
	// once to be kept: a hundredth of the change that the gate reports by default.
	leastShare = 1.0 / 20000
	// maxSites bounds the sites that are kept by call path, and again those that are kept by
	// function.
	maxSites = 3000
)

// candidate is a site, or all small sites of one function, before it is decided whether it is kept.
type candidate struct {
	members []symbolize.SiteID
	column  sites.Column
	end     heapfile.Counts // in the last snapshot
	peak    int64           // in the second half
}

// sites are the sites that are large enough by call path, and the others by function, the largest
// level first.
func (s *scope) sites(total baseline.Level, holder func([]symbolize.SiteID) string) (out []baseline.Site) {
	single := make([]candidate, s.columns.Len())
	for i := range single {
		single[i] = s.candidate([]symbolize.SiteID{symbolize.SiteID(i)})
	}
	kept, small := largest(single, total)
	smallOnes := s.byFunction(small)
	byFunction, _ := largest(slices.Clone(smallOnes), total)
	for _, c := range kept {
		out = append(out, s.stackSite(c))
	}
	for _, c := range byFunction {
		out = append(out, s.functionSite(c))
	}
	if holder != nil {
		s.addHolders(out, slices.Concat(kept, byFunction), slices.Concat(kept, smallOnes), holder)
	}
	slices.SortStableFunc(out, func(a, b baseline.Site) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// addHolders sets what holds the blocks of each site, list[i] being out[i]: that of all call paths of
// its function, because one of them rarely has enough blocks that were looked at; else that of the
// site.
func (s *scope) addHolders(
	out []baseline.Site, list, all []candidate, holder func([]symbolize.SiteID) string,
) {
	type key struct{ function, file string }
	keyOf := func(site *baseline.Site) key { return key{site.Identity.Function(), site.File()} }
	members := map[key][]symbolize.SiteID{}
	for _, c := range all {
		site := s.stackSite(c)
		k := keyOf(&site)
		members[k] = append(members[k], c.members...)
	}
	holders := map[key]string{} // a function may have many sites
	for k, m := range members {
		if k.function != "" {
			holders[k] = holder(m)
		}
	}
	for i := range out {
		out[i].Holder = holders[keyOf(&out[i])]
		if out[i].Holder == "" {
			out[i].Holder = holder(list[i].members)
		}
	}
}

func (s *scope) candidate(members []symbolize.SiteID) candidate {
	c := candidate{members: members, column: s.columns.Sum(members)}
	for _, m := range members {
		c.end = c.end.Add(s.end.Counts(m))
	}
	for _, i := range s.half {
		c.peak = max(c.peak, c.column.Bytes[i])
	}
	return c
}

// largest separates the candidates that are kept from those that are too small. It sorts them.
func largest(list []candidate, total baseline.Level) (kept, small []candidate) {
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.peak, a.peak), cmp.Compare(b.end.AllocBytes, a.end.AllocBytes))
	})
	for _, c := range list {
		large := float64(c.peak) >= leastShare*total.Peak && c.peak > 0
		churns := total.AllocBytes > 0 && float64(c.end.AllocBytes) >= leastShare*total.AllocBytes
		if (large || churns) && len(kept) < maxSites {
			kept = append(kept, c)
		} else {
			small = append(small, c)
		}
	}
	return kept, small
}

// byFunction groups sites by the function that they are attributed to. Sites without one are left
// out.
func (s *scope) byFunction(list []candidate) (out []candidate) {
	var index group.Index
	var groups [][]symbolize.SiteID
	for _, c := range list {
		id := s.namer.Site(s.symbols.SiteStack(c.members[0]))
		if id.Blame < 0 {
			continue
		}
		i, added := index.Number(id.Frames[id.Blame])
		if added {
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c.members[0])
	}
	for _, g := range groups {
		out = append(out, s.candidate(g))
	}
	return out
}
