package growth

import "github.com/heaplapse/heaplapse/diff/trend"

// conclude puts the result together, and decides on the series.
func conclude(s scope, g grouped, h heap, l listing) *Result {
	r := &Result{
		Total: h.total, FirstHeap: h.first, LastHeap: h.last,
		RSS: h.rss, FirstRSS: h.firstRSS, LastRSS: h.lastRSS, Outside: h.outside, ProcessGrows: h.processGrows(),
		Tested: l.tested, Range: s.Range, Kept: g.kept, Suppressed: g.suppressed,
		Sites: l.sites, Stable: l.stable, LargestStable: l.largestStable, Small: l.small, SmallBytes: l.smallBytes,
		Chance: l.chance, Likeliest: l.likeliest, HiddenBytes: g.hiddenGrowth(s) + hiddenSites(l.sites), Notes: notes(s, h),
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

// hiddenSites is the growth of the sites that too few snapshots show to judge them.
func hiddenSites(list []Site) (bytes int64) {
	for i := range list {
		if s := &list[i]; s.Label == trend.Insufficient {
			bytes += max(0, s.Gained)
		}
	}
	return bytes
}

// loading is the growth of the sites that grow to the end while modules are imported.
func loading(list []Site) (bytes int64) {
	for i := range list {
		if s := &list[i]; s.Label == trend.Loading {
			bytes += s.Gained
		}
	}
	return bytes
}

// verdict decides on the series. It is undecided only where data are missing: too few snapshots,
// growth in sites that snapshots hide, growth of the process outside of the heap, snapshots without any
// allocation, or snapshots of the program at work, if it was still importing its modules.
func verdict(r *Result) (SeriesVerdict, Reason) {
	isMost := func(bytes int64) bool { return bytes > 0 && 2*bytes > r.LastHeap-r.FirstHeap }
	switch {
	case r.Leaks > 0:
		return VerdictLeak, SitesLeak
	case r.Len() < trend.MinPoints:
		return VerdictUndecided, TooFewSnapshots
	case r.Total.Confidence >= trend.SuspectConfidence && isMost(r.HiddenBytes):
		return VerdictUndecided, GrowthHidden
	case isMost(loading(r.Sites)):
		return VerdictUndecided, StillLoading
	case r.Suspects > 0:
		return VerdictNoLeak, SitesSuspect
	case r.Total.Label.IsLeak() && isMost(r.SmallBytes):
		return VerdictNoLeak, OnlySmallSitesGrow
	case r.Total.Label.IsLeak():
		return VerdictNoLeak, OnlyHeapGrows
	case r.ProcessGrows:
		return VerdictUndecided, OnlyProcessGrows
	case r.Tested == 0 && r.FirstHeap == 0 && r.LastHeap == 0:
		return VerdictUndecided, NothingRecorded
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
	switch bytes := h.outsideGrowth(); {
	case h.processGrows():
		out = append(out, Note{Kind: NoteProcessGrows, Bytes: bytes})
	case bytes > 0:
		out = append(out, Note{Kind: NoteProcessGrew, Bytes: bytes})
	}
	if q := &s.silence; q.duration > 0 {
		out = append(out, Note{Kind: NoteSilentEnd, Time: q.duration, Timed: q.timed, Worked: q.at != nil})
	}
	return out
}
