package growth

import (
	"cmp"
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/symbolize"
)

// listing is the judged sites, sorted into those that are listed and those that are not.
type listing struct {
	sites  []Site // ranked
	stable []Site // ranked; nil unless Options.KeepStable is set
	// tested is the number of curves that were judged.
	tested int
	// largestStable is the stable site that grew most, if it makes up most of the heap's growth.
	largestStable *Site
	// small is the number of stable sites that grew by less than the minimum,
	// smallBytes their growth, and smallMembers their call paths.
	small        int
	smallBytes   int64
	smallMembers []symbolize.SiteID
	// explained are the call paths of large sites whose verdict explains their growth.
	explained map[symbolize.SiteID]bool
	// likeliest is the large site with the highest confidence, which is chance; nil if no site is
	// large.
	likeliest *Site
	chance    float64
}

// list decides which sites are listed, and ranks them. heapGained is the growth of the heap.
func list(all iter.Seq[judged], heapGained int64, o Options) (l listing) {
	l.explained = map[symbolize.SiteID]bool{}
	for v := range all {
		l.tested += v.tested
		l.add(v.site, heapGained, o)
	}
	l.sites, l.stable = ranked(l.sites), ranked(l.stable)
	return l
}

// add lists a site or counts it.
func (l *listing) add(s Site, heapGained int64, o Options) {
	if s.Gained >= o.MinBytes && s.Confidence > l.chance {
		l.likeliest, l.chance = &s, s.Confidence
	}
	if s.Gained >= o.MinBytes && s.Label.Explains() {
		for _, m := range s.Members {
			l.explained[m] = true
		}
	}
	listed := significant(&s, o.MinBytes)
	if !listed && s.Gained > 0 && s.Gained < o.MinBytes {
		l.small++
		l.smallBytes += s.Gained
		l.smallMembers = append(l.smallMembers, s.Members...)
	}
	if listed || o.All {
		l.sites = append(l.sites, s)
		return
	}
	if o.KeepStable {
		l.stable = append(l.stable, s)
	}
	if s.Gained >= o.MinBytes && 2*s.Gained > heapGained &&
		(l.largestStable == nil || s.Gained > l.largestStable.Gained) {
		l.largestStable = &s
	}
}

// significant reports whether a site is worth listing: it has a label other than stable or, if it
// has too few points for one, grew by enough.
func significant(s *Site, minBytes int64) bool {
	switch s.Label {
	case verdict.Stable:
		return false
	case verdict.Insufficient:
		return s.Gained >= minBytes
	}
	return true
}

// ranked returns sites in the order of their labels, then by how fast those grow at the end that leak, then by growth,
// which too few snapshots tell only from the first to the last one.
func ranked(list []Site) []Site {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Site) int {
		return cmp.Or(
			cmp.Compare(a.Label.Rank(), b.Label.Rank()),
			cmp.Compare(b.pace(), a.pace()),
			cmp.Compare(b.Growth, a.Growth),
			cmp.Compare(b.Gained, a.Gained))
	})
	return out
}

// pace is the growth in bytes per second that is expected to go on: the lower end of the slope's interval times the
// confidence, and times what is left of the slope at the end. A cache that fills slows down.
func (s *Site) pace() float64 {
	left := 1.0
	if s.Features.Measured() {
		left = max(0, min(1, s.Features[trend.FeatureTail]))
	}
	return s.Low * s.Confidence * left
}

// hidden is the growth of the listed sites that too few snapshots show to judge them.
func (l *listing) hidden() (bytes int64) {
	for i := range l.sites {
		if s := &l.sites[i]; s.Label == verdict.Insufficient {
			bytes += max(0, s.Gained)
		}
	}
	return bytes
}

// tally is what sites show together.
type tally struct {
	leaks, suspects int
	// leaked is the growth of what leaks, in bytes, and paths are its call paths.
	leaked int64
	paths  []symbolize.SiteID
}

func tallyOf(list []Site) (t tally) {
	for i := range list {
		switch s := &list[i]; {
		case s.Label.IsLeak():
			members, gained := s.Leaking()
			t.leaks++
			t.leaked += gained
			t.paths = append(t.paths, members...)
		case s.Label == verdict.Suspect:
			t.suspects++
		}
	}
	return t
}

// withFewSamples returns sites of which so few samples show that they grew in one jump that it may
// be chance as insufficient. What a jump explains stays explained, because the site does not grow
// to the end.
func withFewSamples(list []Site) []Site {
	out := slices.Clone(list)
	for i := range out {
		s := &out[i]
		if s.Label == verdict.GrewThenFlat && float64(s.Gained) < leastSamples*s.SampleError {
			s.Label, s.Otherwise = verdict.Insufficient, verdict.Insufficient
		}
	}
	return ranked(out)
}
