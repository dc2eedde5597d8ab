package growth

import "github.com/heaplapse/heaplapse/diff/verdict"

// conclude puts the result together.
func conclude(s scope, g grouped, h heap, l listing) *Result {
	r := &Result{
		Total: h.total, FirstHeap: h.first, LastHeap: h.last,
		RSS: h.rss, FirstRSS: h.firstRSS, LastRSS: h.lastRSS, Outside: h.outside, ProcessGrows: h.processGrows(),
		Tested: l.tested, Range: s.Range, Kept: g.kept, Suppressed: g.suppressed,
		Sites: l.sites, Stable: l.stable, LargestStable: l.largestStable, Small: l.small, SmallBytes: l.smallBytes,
		Chance: l.chance, Likeliest: l.likeliest, HiddenBytes: g.hiddenGrowth(s) + hiddenSites(l.sites), Notes: notes(s, h),
		Workers: s.series.Workers(), Programs: s.series.Programs(),
	}
	r.tally()
	return r
}

// tally counts the leaks and suspects among the sites, and what they explain of the heap's growth.
func (r *Result) tally() {
	var onLeaks int64
	r.Leaks, r.Suspects, onLeaks = count(r.Sites)
	r.Explained = 0
	if gained := r.LastHeap - r.FirstHeap; gained > 0 {
		r.Explained = max(0, min(1, float64(onLeaks)/float64(gained)))
	}
}

// count returns the numbers of leaks and suspects, and the growth of the leaks.
func count(list []Site) (leaks, suspects int, onLeaks int64) {
	for i := range list {
		switch s := &list[i]; {
		case s.Label.IsLeak():
			leaks++
			_, gained := s.Leaking()
			onLeaks += gained
		case s.Label == verdict.Suspect:
			suspects++
		}
	}
	return leaks, suspects, onLeaks
}

// hiddenSites is the growth of the sites that too few snapshots show to judge them.
func hiddenSites(list []Site) (bytes int64) {
	for i := range list {
		if s := &list[i]; s.Label == verdict.Insufficient {
			bytes += max(0, s.Gained)
		}
	}
	return bytes
}

// markFewSamples tells of the sites that seem to have grown in one jump if so few samples show that, that it may be
// chance. They count as explained nevertheless, because they do not grow to the end.
func (r *Result) markFewSamples() {
	for _, list := range [...][]Site{r.Sites, r.Stable} {
		for i := range list {
			s := &list[i]
			if s.Label == verdict.GrewThenFlat && float64(s.Gained) < leastSamples*s.SampleError {
				s.Label, s.Otherwise = verdict.Insufficient, verdict.Insufficient
			}
		}
	}
	rank(r.Sites)
	rank(r.Stable)
}

// notes are facts that make the verdict less sure, or that the heap does not show.
func notes(s scope, h heap) (out []Note) {
	if n := s.Len(); n >= verdict.MinPoints && n < GoodPoints {
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
		out = append(out, Note{Kind: NoteSilentEnd, Time: q.duration, Timed: q.timed, Still: q.still})
	}
	return out
}
