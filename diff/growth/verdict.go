package growth

import (
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// Reason returns the reason of the verdict in words.
func (r *Result) Reason() string {
	f := verdict.Facts{
		Snapshots: r.Len(), Good: GoodPoints, Hidden: r.HiddenBytes, Workers: int(r.Workers),
		Programs: int(r.Programs), Short: r.Short, Leaked: r.leaked(), Resident: r.LastRSS - r.FirstRSS,
		OwnHeap: r.OwnHeap,
	}
	switch r.Why {
	case verdict.SitesLeak:
		f.Sites = r.Leaks
	case verdict.SitesSuspect:
		f.Sites = max(1, r.Suspects)
	case verdict.CauseLeaks, verdict.CauseSuspect:
		c := r.LeakingCause()
		if c == nil {
			c = &r.Causes[0]
		}
		f.Sites, f.Small = c.Sites, c.Small
	}
	return r.Why.Text(f)
}

// LeakingCause returns the largest cause that leaks; nil if there is none. A larger one may be a suspect.
func (r *Result) LeakingCause() *Cause {
	for i := range r.Causes {
		if r.Causes[i].Label.IsLeak() {
			return &r.Causes[i]
		}
	}
	return nil
}

// WithShort returns the result with the number of other processes that have most of the memory, and
// too few snapshots to be judged.
func (r *Result) WithShort(short int) *Result {
	out := *r
	out.Short = short
	return out.decided()
}

// conclude puts the result together.
func conclude(j *judgement, g *groups, h *heap, l *listing, found *causes) *Result {
	r := Result{
		Total: h.total, FirstHeap: h.first, LastHeap: h.last,
		RSS: h.rss, FirstRSS: h.firstRSS, LastRSS: h.lastRSS, Outside: h.outside, ProcessGrows: h.processGrows(),
		LeastRateSeen: leastRateSeen(&j.window, j.options.MinGrowth),
		Tested:        l.tested + found.tested, Range: j.Range, Kept: g.kept, Suppressed: g.suppressed,
		Sites: withFewSamples(j.allShown(l.sites)), Stable: withFewSamples(j.allShown(l.stable)),
		Causes: found.list, LeakingCauses: found.leaking,
		Small: l.small, SmallBytes: l.smallBytes,
		Chance: max(l.chance, causesChance(found.list)), HiddenBytes: g.hiddenGrowth(&j.window) + l.hidden(),
		Notes: notes(&j.window, h), Workers: j.series.Workers(), Programs: j.series.Programs(),
		Attached:    j.series.Method() == manifest.MethodAttach,
		Uncollected: j.uncollected(found.paths),
		OwnHeap:     j.series.OwnHeap(),
	}
	if l.likeliest != nil {
		likeliest := j.shown(*l.likeliest)
		r.Likeliest = &likeliest
	}
	if l.largestStable != nil {
		stable := j.shown(*l.largestStable)
		r.LargestStable = &stable
	}
	return r.tallied(found.explained).decided()
}

// causesChance is the confidence of the likeliest cause.
func causesChance(list []Cause) (chance float64) {
	for i := range list {
		chance = max(chance, list[i].Confidence)
	}
	return chance
}

// tallied returns the result with the numbers of leaks and suspects among its sites, and what the
// leaks explain of the heap's growth. explained is the share of that with what is below causes that
// leak, if there are any.
func (r Result) tallied(explained float64) Result {
	sites := tallyOf(r.Sites)
	r.Leaks, r.Suspects, r.Explained = sites.leaks, sites.suspects, 0
	if gained := r.LastHeap - r.FirstHeap; gained > 0 {
		r.Explained = shareOf(sites.leaked, gained)
	}
	if r.LeakingCauses > 0 {
		r.Explained = explained
	}
	return r
}

// decided returns the result with its verdict, what it rests on, and the probability of a leak.
func (r Result) decided() *Result {
	r.Why = r.reason()
	r.Verdict = r.Why.Series()
	if r.Why == verdict.OnlySmallSitesGrow || r.Why == verdict.OnlyHeapGrows {
		r.Chance = max(r.Chance, r.Total.Confidence)
	}
	return &r
}

// reason finds what the verdict rests on: leaks, then missing data, then what may leak.
func (r *Result) reason() verdict.Reason {
	gained := r.LastHeap - r.FirstHeap
	switch {
	case r.mayReplace():
		return verdict.MayReplace
	case r.Uncollected:
		return verdict.NotCollected
	case r.Leaks > 0:
		return verdict.SitesLeak
	case r.LeakingCauses > 0:
		return verdict.CauseLeaks
	case r.Len() < verdict.MinPoints:
		return verdict.TooFewSnapshots
	case r.Total.Confidence >= trend.SuspectConfidence && isMost(r.HiddenBytes, gained):
		return verdict.GrowthHidden
	case isMost(loading(r.Sites), gained):
		return verdict.StillLoading
	case r.Suspects > 0 || r.likeliestMayLeak():
		return verdict.SitesSuspect
	case len(r.Causes) > 0:
		return verdict.CauseSuspect
	case r.Total.Label.IsSuspicious() && isMost(r.SmallBytes, gained):
		return verdict.OnlySmallSitesGrow
	case r.Total.Label.IsLeak():
		return verdict.OnlyHeapGrows
	case r.OwnHeap != "":
		return verdict.HeapMissing
	case r.ProcessGrows:
		return verdict.OnlyProcessGrows
	case r.Tested == 0 && r.FirstHeap == 0 && r.LastHeap == 0:
		return verdict.NothingRecorded
	case r.Workers > 0:
		return verdict.WorkersMissing
	case r.Programs > 0:
		return verdict.ProgramsMissing
	case r.Short > 0:
		return verdict.OthersTooShort
	}
	return verdict.NothingGrows
}

// leaked is the growth of what seems to leak.
func (r *Result) leaked() int64 { return int64(r.Explained * float64(r.LastHeap-r.FirstHeap)) }

// mayReplace reports whether what seems to leak may only replace memory from before attach, whose release is not
// seen: the resident memory grew by less than half as much.
func (r *Result) mayReplace() bool {
	leaks := r.Leaks > 0 || r.LeakingCauses > 0
	return leaks && r.Attached && r.RSS != nil && !isMost(r.LastRSS-r.FirstRSS, r.leaked())
}

// likeliestMayLeak reports whether the likeliest site may leak. It need not be a suspect: its growth
// may hardly reach the minimum.
func (r *Result) likeliestMayLeak() bool {
	return r.Likeliest != nil && r.Likeliest.Confidence >= trend.SuspectConfidence
}

// isMost reports whether a growth is most of the heap's.
func isMost(bytes, heapGained int64) bool { return bytes > 0 && 2*bytes > heapGained }

// loading is the growth of the sites that grow to the end while modules are imported.
func loading(list []Site) (bytes int64) {
	for i := range list {
		if s := &list[i]; s.Label == verdict.Loading {
			bytes += s.Gained
		}
	}
	return bytes
}

// notes are facts that make the verdict less sure, or that the heap does not show.
func notes(w *window, h *heap) (out []Note) {
	if n := w.Len(); n >= verdict.MinPoints && n < GoodPoints {
		out = append(out, Note{Kind: NoteFewSnapshots, Snapshots: n})
	}
	if !w.hasAlloc {
		out = append(out, Note{Kind: NoteNoAlloc})
	}
	switch bytes := h.outsideGrowth(); {
	case h.processGrows():
		out = append(out, Note{Kind: NoteProcessGrows, Bytes: bytes})
	case bytes > 0:
		out = append(out, Note{Kind: NoteProcessGrew, Bytes: bytes})
	}
	if g := &w.gap; g.duration > 0 {
		out = append(out, Note{Kind: NoteSilentEnd, Time: g.duration, Timed: g.timed, Still: g.still})
	}
	return out
}
