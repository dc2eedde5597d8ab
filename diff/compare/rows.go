package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// rows groups matches by the sites of the current side, or of the base side if they are gone. If
// sites are stacks, each match is a row.
func (p *pair) rows(matches []identity.Match) (rows []Row) {
	var index group.Index
	for i, m := range matches {
		key := fmt.Sprint(i)
		if p.by != sites.ByStack {
			key = p.key(m)
		}
		n, added := index.Number(key)
		if added {
			rows = append(rows, Row{Tier: identity.Unmatched})
		}
		p.add(&rows[n], m)
	}
	return rows
}

// key is the key of a match's group.
func (p *pair) key(m identity.Match) string {
	if len(m.Current) > 0 {
		return p.keys[current].Of(p.sides[current].sites[m.Current[0]])
	}
	return p.keys[base].Of(p.sides[base].sites[m.Base[0]])
}

// add adds a match to its row.
func (p *pair) add(r *Row, m identity.Match) {
	p.sides[base].include(&r.BaseSites, &r.Base, m.Base)
	p.sides[current].include(&r.CurrentSites, &r.Current, m.Current)
	if len(m.Base) == 0 {
		r.BaseBound = addBound(r.BaseBound, p.sides[base].Head)
	}
	if len(m.Current) == 0 {
		r.CurrentBound = addBound(r.CurrentBound, p.sides[current].Head)
	}
	r.Tier = identity.LeastSure(r.Tier, m.Tier)
}

// include adds sites of the side to ids, and their counts to sum.
func (s *Side) include(ids *[]symbolize.SiteID, sum *heapfile.Counts, members []int) {
	for _, i := range members {
		*ids = append(*ids, s.sites[i])
		*sum = sum.Add(s.counts[i])
	}
}

// addBound adds to a bound the bytes that a truncated snapshot may hide of one more site, which
// only the other side lists. The bound is at most the total of the hidden bytes.
func addBound(sum heapfile.Counts, s *series.Head) heapfile.Counts {
	one, all := s.Completeness.AbsentMax, s.Heap().Sub(s.Completeness.Estimate)
	add := func(sum, one, all int64) int64 {
		if one == math.MaxInt64 {
			return one
		}
		return min(sum+one, max(one, all))
	}
	return heapfile.Counts{
		InuseObjects: add(sum.InuseObjects, one.InuseObjects, all.InuseObjects),
		InuseBytes:   add(sum.InuseBytes, one.InuseBytes, all.InuseBytes),
		AllocObjects: add(sum.AllocObjects, one.AllocObjects, all.AllocObjects),
		AllocBytes:   add(sum.AllocBytes, one.AllocBytes, all.AllocBytes),
	}
}

// changes returns the rows that changed, and the number of those that did not.
func (p *pair) changes(rows []Row) (changed []Row, unchanged int) {
	b, c := p.sides[base], p.sides[current]
	moved := p.moved(rows)
	for i, r := range rows {
		if !b.Head.HasAlloc || !c.Head.HasAlloc {
			r.Base, r.Current = withoutAlloc(r.Base), withoutAlloc(r.Current)
		}
		if r.Delta() == (heapfile.Counts{}) {
			unchanged++
			continue
		}
		r.Change, r.Moved = r.change(), moved[i]
		r.Noise = math.Hypot(sites.SamplingNoise(b.Head, r.Base.InuseBytes),
			sites.SamplingNoise(c.Head, r.Current.InuseBytes))
		b.largestFirst(r.BaseSites)
		c.largestFirst(r.CurrentSites)
		changed = append(changed, r)
	}
	return changed, unchanged
}

// withoutAlloc drops cumulative counts, which mean nothing if only one side has them.
func withoutAlloc(c heapfile.Counts) heapfile.Counts {
	return heapfile.Counts{InuseObjects: c.InuseObjects, InuseBytes: c.InuseBytes}
}

// change is what happened to a row that changed. A site that truncation may hide on one side is
// neither new nor gone.
func (r *Row) change() Change {
	d := r.Delta()
	switch {
	case d.InuseBytes == 0: // also of a site that is new, and has nothing in use
		return ChangeChurned
	case len(r.BaseSites) == 0 && r.BaseBound == heapfile.Counts{}:
		return ChangeNew
	case len(r.CurrentSites) == 0 && r.CurrentBound == heapfile.Counts{}:
		return ChangeGone
	case d.InuseBytes > 0:
		return ChangeGrown
	}
	return ChangeShrunk
}

// moveShare is the largest change of a function as a whole, as a share of a row's change, for which
// the row counts as moved.
const moveShare = 0.2

// moved reports of each row whether its function hardly changed as a whole. Rows that are no single
// call paths do not move.
func (p *pair) moved(rows []Row) []bool {
	out := make([]bool, len(rows))
	if p.by != sites.ByStack {
		return out
	}
	whole := map[string]int64{}
	functions := make([]string, len(rows))
	for i := range rows {
		functions[i] = p.function(&rows[i])
		whole[functions[i]] += rows[i].Delta().InuseBytes
	}
	for i := range rows {
		d := rows[i].Delta().InuseBytes
		out[i] = d != 0 && float64(abs(whole[functions[i]])) < moveShare*float64(abs(d))
	}
	return out
}

// function is the key of the function that a row is attributed to.
func (p *pair) function(r *Row) string {
	if len(r.CurrentSites) > 0 {
		return p.keys[current].Of(r.CurrentSites[0])
	}
	return p.keys[base].Of(r.BaseSites[0])
}

// rank orders rows by the change of the bytes in use, then by that of the bytes allocated, the
// largest first.
func rank(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		x, y := a.Delta(), b.Delta()
		return cmp.Or(cmp.Compare(abs(y.InuseBytes), abs(x.InuseBytes)), cmp.Compare(abs(y.AllocBytes), abs(x.AllocBytes)))
	})
}

func abs(v int64) int64 { return max(v, -v) }
