package growth

import "github.com/heaplapse/heaplapse/diff/trend"

// SeriesVerdict is the answer for the series as a whole.
type SeriesVerdict string

// The answers.
const (
	VerdictLeak      SeriesVerdict = "leak"
	VerdictNoLeak    SeriesVerdict = "no-leak"   // the chance of a leak is below trend.SuspectConfidence
	VerdictUndecided SeriesVerdict = "undecided" // the chance is in between, or data are missing
)

// Reason is what a verdict on a series rests on.
type Reason uint8

// Reasons.
const (
	NothingGrows       Reason = iota // no site grows to the end of the series
	SitesLeak                        // Result.Leaks sites grow to the end of the series
	CauseLeaks                       // no single site leaks, but all sites of one of Result.Causes together
	SitesSuspect                     // Result.Suspects sites, or Result.Likeliest, may leak, but none clearly does
	CauseSuspect                     // no single site may leak, but all sites of one of Result.Causes together may
	OnlySmallSitesGrow               // the heap grows, mostly in sites that are too small to be judged one by one
	OnlyHeapGrows                    // the heap grows, but no single site does
	TooFewSnapshots                  // the series has fewer than trend.MinPoints snapshots
	GrowthHidden                     // truncated snapshots hide most of the growth
	StillLoading                     // the process imports modules to the end, which is most of the growth
	OnlyProcessGrows                 // the process grows, but no site of its heap does
	NothingRecorded                  // the snapshots have no allocation
	WorkersMissing                   // nothing grows, but Result.Workers children were not recorded
)

// reasons has for each reason its name in JSON and tables, the verdict, and whether data are missing.
var reasons = [...]struct {
	name        string
	verdict     SeriesVerdict
	dataMissing bool
}{
	NothingGrows:       {"nothing-grows", VerdictNoLeak, false},
	SitesLeak:          {"sites-leak", VerdictLeak, false},
	CauseLeaks:         {"cause-leaks", VerdictLeak, false},
	SitesSuspect:       {"sites-suspect", VerdictUndecided, false},
	CauseSuspect:       {"cause-suspect", VerdictUndecided, false},
	OnlySmallSitesGrow: {"only-small-sites-grow", VerdictUndecided, false},
	OnlyHeapGrows:      {"only-heap-grows", VerdictUndecided, false},
	TooFewSnapshots:    {"too-few-snapshots", VerdictUndecided, true},
	GrowthHidden:       {"growth-hidden", VerdictUndecided, true},
	StillLoading:       {"still-loading", VerdictUndecided, true},
	OnlyProcessGrows:   {"only-process-grows", VerdictUndecided, true},
	NothingRecorded:    {"nothing-recorded", VerdictUndecided, true},
	WorkersMissing:     {"workers-not-recorded", VerdictUndecided, true},
}

// String returns the name of a reason, such as "sites-leak".
func (r Reason) String() string { return reasons[r].name }

// Verdict returns the verdict that rests on a reason.
func (r Reason) Verdict() SeriesVerdict { return reasons[r].verdict }

// DataMissing reports whether the series cannot be judged: the probability of a leak is not known.
func (r Reason) DataMissing() bool { return reasons[r].dataMissing }

// decide sets the verdict, what it rests on, and the probability of a leak.
func (r *Result) decide() {
	r.Why = r.reason()
	r.Verdict = r.Why.Verdict()
	if r.Why == OnlySmallSitesGrow || r.Why == OnlyHeapGrows {
		r.Chance = max(r.Chance, r.Total.Confidence)
	}
}

// reason finds what the verdict rests on: leaks, then missing data, then what may leak.
func (r *Result) reason() Reason {
	switch {
	case r.Leaks > 0:
		return SitesLeak
	case r.LeakingCauses > 0:
		return CauseLeaks
	case r.Len() < trend.MinPoints:
		return TooFewSnapshots
	case r.Total.Confidence >= trend.SuspectConfidence && r.isMost(r.HiddenBytes):
		return GrowthHidden
	case r.isMost(loading(r.Sites)):
		return StillLoading
	case r.Suspects > 0 || r.likeliestMayLeak():
		return SitesSuspect
	case len(r.Causes) > 0:
		return CauseSuspect
	case r.onlySmallGrow():
		return OnlySmallSitesGrow
	case r.Total.Label.IsLeak():
		return OnlyHeapGrows
	case r.ProcessGrows:
		return OnlyProcessGrows
	case r.Tested == 0 && r.FirstHeap == 0 && r.LastHeap == 0:
		return NothingRecorded
	case r.Workers > 0:
		return WorkersMissing
	}
	return NothingGrows
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
		if s := &list[i]; s.Label == trend.Loading {
			bytes += s.Gained
		}
	}
	return bytes
}
