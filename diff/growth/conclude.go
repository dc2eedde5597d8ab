package growth

import "github.com/heaplapse/heaplapse/diff/trend"

// conclude puts the result together, and decides on the series.
func conclude(s scope, g grouped, h heap, l listing) *Result {
	r := &Result{
		Total: h.total, FirstHeap: h.first, LastHeap: h.last,
		RSS: h.rss, FirstRSS: h.firstRSS, LastRSS: h.lastRSS, ProcessGrows: h.outside() > 0,
		Tested: l.tested, Range: s.Range, Kept: g.kept, Suppressed: g.suppressed,
		Sites: l.sites, Stable: l.stable, LargestStable: l.largestStable, Small: l.small, SmallBytes: l.smallBytes,
		Notes: notes(s, h),
	}
	var onLeaks int64
	r.Leaks, r.Suspects, onLeaks = count(l.sites)
	if gained := h.gained(); gained > 0 {
		r.Explained = max(0, min(1, float64(onLeaks)/float64(gained)))
	}
	r.Verdict, r.Why = verdict(r)
	return r
}

// count returns the numbers of leaks and suspects, and the growth of the leaks.
func count(list []Site) (leaks, suspects int, onLeaks int64) {
	for i := range list {
		switch s := &list[i]; {
		case s.Label.IsLeak():
			leaks++
			onLeaks += s.Gained
		case s.Label == trend.Suspect:
			suspects++
		}
	}
	return leaks, suspects, onLeaks
}

// verdict decides on the series.
func verdict(r *Result) (SeriesVerdict, Reason) {
	switch {
	case r.Leaks > 0:
		return VerdictLeak, SitesLeak
	case r.Len() < trend.MinPoints:
		return VerdictUndecided, TooFewSnapshots
	case r.Suspects > 0:
		return VerdictUndecided, SitesSuspect
	case r.Total.Label.IsLeak():
		return VerdictUndecided, OnlyHeapGrows
	case r.ProcessGrows:
		return VerdictNoLeak, OnlyProcessGrows
	}
	return VerdictNoLeak, NothingGrows
}

// notes are facts that make the verdict less sure, or that the heap does not show.
func notes(s scope, h heap) (out []Note) {
	if n := s.Len(); n >= trend.MinPoints && n < GoodPoints {
		out = append(out, Note{Kind: NoteFewSnapshots, Snapshots: n})
	}
	if !s.hasAlloc {
		out = append(out, Note{Kind: NoteNoAlloc})
	}
	if outside := h.outside(); outside > 0 {
		out = append(out, Note{Kind: NoteProcessGrows, Bytes: outside})
	}
	return out
}
