package summary

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// Pool adds up the runs of the processes of one recording: the sites of each program, and the
// heaps. The first run is that of the main process, which the result is named after.
//
// A level is weighted by the share of the second half of the recording that the process lived in,
// so that workers that replace one another count as one. Cumulative counts are not weighted. Rest
// is the total minus the sites, as in [New].
func Pool(runs []*baseline.Run) *baseline.Run {
	if len(runs) == 1 {
		return runs[0]
	}
	out := &baseline.Run{Meta: runs[0].Meta}
	out.Meta.Processes = len(runs)
	half := secondHalfOf(runs)
	index := map[string]int{} // in out.Sites
	for _, r := range runs {
		weight := half.share(&r.Meta)
		out.Total = out.Total.Add(weighted(r.Total, weight))
		out.Meta.HasAlloc = out.Meta.HasAlloc && r.Meta.HasAlloc
		out.Meta.AbsentMax = max(out.Meta.AbsentMax, r.Meta.AbsentMax)
		for _, s := range r.Sites {
			s.Level = weighted(s.Level, weight)
			key := keyOf(&r.Meta, &s)
			if i, ok := index[key]; ok {
				out.Sites[i].Level = out.Sites[i].Add(s.Level)
				continue
			}
			index[key] = len(out.Sites)
			out.Sites = append(out.Sites, s)
		}
	}
	slices.SortStableFunc(out.Sites, func(a, b baseline.Site) int { return cmp.Compare(b.Bytes, a.Bytes) })
	out.Sites = out.Sites[:min(len(out.Sites), 2*maxSites)]
	out.Rest = out.Total
	for i := range out.Sites {
		out.Rest = out.Rest.Sub(out.Sites[i].Level)
	}
	return out
}

// keyOf identifies a site among the processes of a recording.
func keyOf(m *baseline.Meta, s *baseline.Site) string {
	return strings.Join(append([]string{m.Program, s.Identity.Place}, s.Identity.Frames...), "\x00")
}

func weighted(l baseline.Level, by float64) baseline.Level {
	l.Bytes, l.Objects, l.Peak = by*l.Bytes, by*l.Objects, by*l.Peak
	l.Slope, l.SlopeError, l.Noise, l.Swing = by*l.Slope, by*l.SlopeError, by*l.Noise, by*l.Swing
	return l
}

// period is a part of a recording.
type period struct{ from, to time.Time }

// secondHalfOf is the second half of a recording, which is as long as the snapshots of all runs.
func secondHalfOf(runs []*baseline.Run) period {
	var all period
	for _, r := range runs {
		first, last := span(&r.Meta)
		if all.from.IsZero() || first.Before(all.from) {
			all.from = first
		}
		if last.After(all.to) {
			all.to = last
		}
	}
	return period{all.from.Add(all.to.Sub(all.from) / 2), all.to}
}

func span(m *baseline.Meta) (first, last time.Time) {
	return m.Recorded.Add(-time.Duration(m.Span * float64(time.Second))), m.Recorded
}

// share is the part of the period in which a process lived. Before its first snapshot and after its
// last one it lived for up to the time between two snapshots. Without a clock the share is 1.
func (p period) share(m *baseline.Meta) float64 {
	length := p.to.Sub(p.from)
	if m.Recorded.IsZero() || length <= 0 {
		return 1
	}
	first, last := span(m)
	between := time.Duration(m.Span / float64(max(m.Snapshots-1, 1)) * float64(time.Second))
	from, to := first.Add(-between), last.Add(between)
	if from.Before(p.from) {
		from = p.from
	}
	if to.After(p.to) {
		to = p.to
	}
	return max(0, float64(to.Sub(from))/float64(length))
}
