package growth

import (
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// Reason returns the reason of the verdict in words.
func (r *Result) Reason() string {
	f := verdict.Facts{
		Snapshots: r.Len(), Good: GoodPoints, Hidden: r.HiddenBytes, Workers: int(r.Workers),
		Programs: int(r.Programs), Short: r.Short,
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

// Beside tells a result of other processes that have most of the memory, and too few snapshots to be judged.
func (r *Result) Beside(short int) {
	r.Short = short
	r.decide()
}

// decide sets the verdict, what it rests on, and the probability of a leak.
func (r *Result) decide() {
	r.Why = r.reason()
	r.Verdict = r.Why.Series()
	if r.Why == verdict.OnlySmallSitesGrow || r.Why == verdict.OnlyHeapGrows {
		r.Chance = max(r.Chance, r.Total.Confidence)
	}
}

// reason finds what the verdict rests on: leaks, then missing data, then what may leak.
func (r *Result) reason() verdict.Reason {
	switch {
	case r.Leaks > 0:
		return verdict.SitesLeak
	case r.LeakingCauses > 0:
		return verdict.CauseLeaks
	case r.Len() < verdict.MinPoints:
		return verdict.TooFewSnapshots
	case r.Total.Confidence >= trend.SuspectConfidence && r.isMost(r.HiddenBytes):
		return verdict.GrowthHidden
	case r.isMost(loading(r.Sites)):
		return verdict.StillLoading
	case r.Suspects > 0 || r.likeliestMayLeak():
		return verdict.SitesSuspect
	case len(r.Causes) > 0:
		return verdict.CauseSuspect
	case r.onlySmallGrow():
		return verdict.OnlySmallSitesGrow
	case r.Total.Label.IsLeak():
		return verdict.OnlyHeapGrows
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

// likeliestMayLeak reports whether the likeliest site may leak. It need not be a suspect: its growth
// may hardly reach the minimum.
func (r *Result) likeliestMayLeak() bool {
	return r.Likeliest != nil && r.Likeliest.Confidence >= trend.SuspectConfidence
}

// isMost reports whether a growth is most of the heap's.
func (r *Result) isMost(bytes int64) bool { return bytes > 0 && 2*bytes > r.LastHeap-r.FirstHeap }

// onlySmallGrow reports whether the heap grows, mostly in sites that are too small to be judged.
func (r *Result) onlySmallGrow() bool {
	return r.Leaks == 0 && r.Suspects == 0 && r.Total.Label.IsLeak() && r.isMost(r.SmallBytes)
}

// loading is the growth of the sites that grow to the end while modules are imported.
func loading(list []Site) (bytes int64) {
	for i := range list {
		if s := &list[i]; s.Label == verdict.Loading {
			bytes += s.Gained
		}
	}
	return bytes
}
