package growth

import (
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// NoteKind is a fact about a result that a reader should know.
type NoteKind uint8

// Kinds of notes.
const (
	// NoteFewSnapshots: with Note.Snapshots snapshots, fewer than [GoodPoints], a cache that fills
	// up may look like a leak.
	NoteFewSnapshots NoteKind = iota
	// NoteNoAlloc: there are no cumulative counts, so that growth caused by higher load may look
	// like a leak.
	NoteNoAlloc
	// NoteProcessGrows: the resident set grows to the end of the series, by Note.Bytes more than the
	// heap.
	NoteProcessGrows
	// NoteProcessGrew: the resident set grew by Note.Bytes more than the heap, and has stopped.
	NoteProcessGrew
	// NoteSilentEnd: the process ran for Note.Time after the last snapshot, and took no other one. If a
	// timer was due (Note.Timed), it probably did not call malloc. If it also worked, and its resident
	// set did not grow (Note.Still), the growth may have stopped: no site is called a leak.
	NoteSilentEnd
)

// Note is one such fact, with its numbers.
type Note struct {
	Kind      NoteKind
	Snapshots int
	Bytes     int64
	Time      time.Duration
	Timed     bool
	Still     bool
}

// GoodPoints is the number of snapshots from which on verdicts are good; [verdict.MinPoints] is the
// least.
const GoodPoints = 12

// Result is what grows in a series.
type Result struct {
	Verdict verdict.Series
	// Why is what Verdict rests on.
	Why verdict.Reason
	// Chance is the probability that the series leaks: the confidence of its likeliest leak, or of the
	// growth of the whole heap if no site has it.
	Chance float64
	// Likeliest is the site with this confidence; nil if no site grew.
	Likeliest *Site
	// Workers is the number of children that run the same program, and were not recorded.
	Workers int64
	// Programs is the number of processes below this one that run other programs, grew, and were not recorded.
	Programs int64
	// Short is the number of other processes that have most of the memory, and too few snapshots to be judged.
	Short int
	// HiddenBytes is the growth that truncated snapshots hide, or show too rarely to judge it.
	HiddenBytes int64
	// Leaks and Suspects are the numbers of sites with these labels.
	Leaks, Suspects int
	// Total is the trend of the heap: the part that the filter keeps, without what is suppressed.
	// FirstHeap and LastHeap are its size, in bytes.
	Total               trend.Verdict
	FirstHeap, LastHeap int64
	// RSS is the trend of the resident set, which includes what the heap does not: mmap,
	// fragmentation, stacks. It is nil if the resident set was not recorded. FirstRSS and LastRSS
	// are its size, in bytes.
	RSS               *trend.Verdict
	FirstRSS, LastRSS int64
	// Outside is the trend of the resident set without the heap; nil if RSS is.
	Outside *trend.Verdict
	// ProcessGrows reports whether the resident set grows to the end, and by more than the heap.
	ProcessGrows bool
	// Attached reports whether the heap is only what was allocated since attach.
	Attached bool
	// Uncollected reports whether most of what seems to leak is memory that a garbage collector has not looked at yet.
	Uncollected bool
	// OwnHeap is the language of the process whose heap was not recorded, or "".
	OwnHeap string
	// Explained is the share of the heap's growth that is on sites called leaks, or below causes that
	// leak, 0 to 1.
	Explained float64
	// LeastRateSeen is the rate of the least leak that the recording hardly misses, in bytes per unit of
	// its clock. It is infinite if no time passed.
	LeastRateSeen float64
	// Tested is the number of curves that were judged. Of many, some rise by chance.
	Tested int
	// Range is the snapshots that were judged.
	sites.Range
	// Causes are functions through which many sites grow, the largest growth first; none if a site
	// has most of the growth. If small sites have it, and no function explains it, the last one is
	// their sum.
	Causes []Cause
	// LeakingCauses is the number of causes that leak.
	LeakingCauses int
	// Sites are ranked, worst first.
	Sites []Site
	// Stable are the sites that are not in Sites, ranked; only with Options.KeepStable.
	Stable []Site
	// LargestStable is the site outside Sites that grew most, if it makes up most of the heap's
	// growth; may be nil.
	LargestStable *Site
	// Kept is the number of sites that passed the filter.
	Kept int
	// Small is the number of sites that grew by less than Options.MinBytes, SmallBytes their
	// growth.
	Small      int
	SmallBytes int64
	// Suppressed is the growth that suppressions took out of the result.
	Suppressed []Suppressed
	// Notes are facts about the result that a reader should know.
	Notes []Note
}

// LeakRate is how fast the sites that leak grow together, in bytes per unit of the clock.
func (r *Result) LeakRate() (rate float64) {
	for i := range r.Sites {
		if s := &r.Sites[i]; s.Label.IsLeak() {
			rate += s.Slope
		}
	}
	return rate
}

// Suppressed is the growth that one suppression took out of the result.
type Suppressed struct {
	*suppress.Entry
	Sites  int
	Gained int64
}

// Part is some call paths of a site.
type Part struct {
	trend.Verdict
	Gained  int64
	Members []symbolize.SiteID
}

// Leaking returns the call paths that leak, and their growth; none if the site does not leak.
func (s *Site) Leaking() (members []symbolize.SiteID, gained int64) {
	if !s.Label.IsLeak() {
		return nil, 0
	}
	for i := range s.Parts {
		if p := &s.Parts[i]; i == 0 || p.Label.IsLeak() {
			members, gained = append(members, p.Members...), gained+p.Gained
		}
	}
	if s.Parts == nil {
		return s.Members, s.Gained
	}
	return members, gained
}

// Site is a group of call paths that are attributed to one frame.
type Site struct {
	trend.Verdict
	// Pool is what all processes of the program show of the site; nil if it grew in one only.
	Pool *Pool
	// Gained is the last visible value minus the first, within the judged snapshots. Held is the last one.
	Gained, Held int64
	// Members are its call paths, the one that grew most first; those of the first part first.
	Members []symbolize.SiteID
	// Parts are call paths that were judged apart, the worst first, because some leak and the others do not. The
	// verdict is that of the first. nil if all call paths were judged together.
	Parts []Part
	// Blame refers to a frame of the first member's stack.
	Blame class.FrameRef
	// Bytes and Objects in use by snapshot; Visible is false where truncation hides them.
	Bytes, Objects []int64
	Visible        []bool
}

// WithoutCurves returns a result without what takes much memory: the curves of its sites, and the
// stable sites.
func (r *Result) WithoutCurves() *Result {
	out := *r
	out.Sites, out.Stable = slices.Clone(r.Sites), nil
	for i := range out.Sites {
		s := &out.Sites[i]
		s.Bytes, s.Objects, s.Visible = nil, nil, nil
	}
	return &out
}
