package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/units"
)

// Series is the verdict on a series as a whole.
type Series string

// Verdicts on a series.
const (
	SeriesLeak      Series = "leak"
	SeriesNoLeak    Series = "no-leak"   // the chance of a leak is low
	SeriesUndecided Series = "undecided" // the chance is in between, or data are missing
)

// Color is that of the verdict on a series.
type Color uint8

// Colors.
const (
	Yellow Color = iota
	Red
	Green
)

// seriesRow is a row of the table of headlines, which has the most alarming verdict first.
type seriesRow struct {
	name  Series
	color Color
	// predicate is what n processes of many do that have the verdict; "" if none of them leaks.
	predicate func(n int) string
}

var series = [...]seriesRow{
	{SeriesLeak, Red, func(n int) string { return plural(n, "leaks", "leak") }},
	{SeriesUndecided, Yellow, func(n int) string { return plural(n, "is", "are") + " undecided" }},
	{SeriesNoLeak, Green, nil},
}

func (s Series) row() *seriesRow { return &series[s.Rank()] }

// Rank orders verdicts, 0 for the most alarming one.
func (s Series) Rank() int {
	return slices.IndexFunc(series[:], func(r seriesRow) bool { return r.name == s })
}

// AllSeries are all verdicts on a series, the most alarming first.
func AllSeries() (out []Series) {
	for i := range series {
		out = append(out, series[i].name)
	}
	return out
}

// Headline returns the word that the headline begins with, such as "NO-LEAK".
func (s Series) Headline() string { return strings.ToUpper(string(s)) }

// Color returns the colour of the headline.
func (s Series) Color() Color { return s.row().color }

// Among tells how many of several processes have the verdict; name is that of one of them.
func (s Series) Among(name string, alike, all int) string {
	of := units.CountOf(all, "process", "processes")
	switch {
	case s.row().predicate == nil && alike == all:
		return "none of " + of + " leaks"
	case s.row().predicate == nil:
		return fmt.Sprintf("process %s; %d of %s have no leak", name, alike, of)
	}
	return fmt.Sprintf("process %s (%d of %s %s)", name, alike, of, s.row().predicate(alike))
}

// Reason is what a verdict on a series rests on.
type Reason uint8

// Reasons.
const (
	NothingGrows       Reason = iota // no site grows to the end of the series
	SitesLeak                        // sites grow to the end of the series
	CauseLeaks                       // no single site leaks, but all sites of a cause together
	SitesSuspect                     // sites may leak, but none clearly does
	CauseSuspect                     // no single site may leak, but all sites of a cause together may
	OnlySmallSitesGrow               // the heap grows, mostly in sites that are too small to be judged one by one
	OnlyHeapGrows                    // the heap grows, but no single site does
	TooFewSnapshots                  // the series has fewer than MinPoints snapshots
	GrowthHidden                     // truncated snapshots hide most of the growth
	StillLoading                     // the process imports modules to the end, which is most of the growth
	OnlyProcessGrows                 // the process grows, but no site of its heap does
	NothingRecorded                  // the snapshots have no allocation
	WorkersMissing                   // nothing grows, but children of the process were not recorded
	ProgramsMissing                  // nothing grows, but processes below the process grew and were not recorded
	OthersTooShort                   // nothing grows, but processes with most of the memory have too few snapshots
	MayReplace                       // sites grow, but may replace memory from before the recording
	NotCollected                     // sites grow, but a garbage collector has not looked whether their memory is used
	HeapMissing                      // nothing grows, but the language has a heap of its own, which was not recorded
)

// Facts are the numbers in the text of a reason.
type Facts struct {
	// Sites is the number of sites that the reason is about. Small reports whether they are the
	// small ones, and not those below one function.
	Sites int
	Small bool
	// Snapshots is the number of judged snapshots; Good, how many are good.
	Snapshots, Good int
	// Hidden is the growth that truncated snapshots hide, in bytes.
	Hidden int64
	// Workers is the number of children of the same program that were not recorded, Programs that of processes below
	// this one that run others, and Short that of processes that have too few snapshots.
	Workers, Programs, Short int
	// OwnHeap is the language whose heap was not recorded.
	OwnHeap string
	// Leaked is the growth of what seems to leak, and Resident that of the resident memory, in bytes.
	Leaked, Resident int64
}

// Status is the exit status of a check for leaks.
type Status uint8

// Statuses, as numbers of a shell.
const (
	StatusPass    Status = 0
	StatusFail    Status = 1
	StatusNothing Status = 2 // data are missing, so that there is nothing to check
)

// reasonRow is a row of the table of reasons.
type reasonRow struct {
	name   string
	series Series
	status Status
	text   func(Facts) string
}

var reasons = [...]reasonRow{
	NothingGrows: {"nothing-grows", SeriesNoLeak, StatusPass, always("no site grows to the end of the series")},
	SitesLeak: {"sites-leak", SeriesLeak, StatusFail, func(f Facts) string {
		return units.Count(f.Sites, "site") + plural(f.Sites, " grows", " grow") + " to the end of the series"
	}},
	CauseLeaks: {"cause-leaks", SeriesLeak, StatusFail, func(f Facts) string {
		return "no single site leaks, but " + f.together("grow together", "grow together below one function")
	}},
	SitesSuspect: {"sites-suspect", SeriesUndecided, StatusPass, func(f Facts) string {
		return units.Count(f.Sites, "site") + " may leak"
	}},
	CauseSuspect: {"cause-suspect", SeriesUndecided, StatusPass, func(f Facts) string {
		return "no single site may leak, but " + f.together("together may", "together below one function may")
	}},
	OnlySmallSitesGrow: {"only-small-sites-grow", SeriesUndecided, StatusPass,
		always("the heap grows, but in sites that are too small to be judged one by one: see the note")},
	OnlyHeapGrows: {"only-heap-grows", SeriesUndecided, StatusPass, always("the heap grows, but no single site does")},
	TooFewSnapshots: {"too-few-snapshots", SeriesUndecided, StatusNothing, func(f Facts) string {
		return fmt.Sprintf("%s %s too few for a trend: at least %d are needed, %d or more are better",
			units.Count(f.Snapshots, "snapshot"), plural(f.Snapshots, "is", "are"), MinPoints, f.Good)
	}},
	GrowthHidden: {"growth-hidden", SeriesUndecided, StatusNothing, func(f Facts) string {
		return fmt.Sprintf(
			"the heap grows, and truncated snapshots hide %s of it: record again with an engine that writes complete snapshots",
			units.Bytes(f.Hidden))
	}},
	StillLoading: {"still-loading", SeriesUndecided, StatusNothing,
		always("the program was importing Python modules until the end, which is most of the growth: record for longer")},
	OnlyProcessGrows: {"only-process-grows", SeriesUndecided, StatusNothing,
		always("the recorded heap does not grow to the end of the series, but the process does: see the note")},
	NothingRecorded: {"nothing-recorded", SeriesUndecided, StatusNothing,
		always("no allocation was recorded: the program has an allocator of its own, or allocates nothing")},
	WorkersMissing: {"workers-not-recorded", SeriesUndecided, StatusNothing, func(f Facts) string {
		return "no site of this process grows to the end of the series, but " +
			units.CountOf(f.Workers, "child process", "child processes") + " of the same program were not recorded"
	}},
	ProgramsMissing: {"programs-not-recorded", SeriesUndecided, StatusNothing, func(f Facts) string {
		return "no site of this process grows to the end of the series, but " +
			units.CountOf(f.Programs, "child process of another program", "child processes of other programs") +
			" grew, and " + plural(f.Programs, "was", "were") + " not recorded"
	}},
	OthersTooShort: {"others-too-short", SeriesUndecided, StatusNothing, func(f Facts) string {
		return "no site of this process grows to the end of the series, but " + units.CountOf(f.Short, "other process", "other processes") +
			", with most of the memory, " + plural(f.Short, "has", "have") + " too few snapshots"
	}},
	MayReplace: {"may-replace", SeriesUndecided, StatusNothing, func(f Facts) string {
		return fmt.Sprintf("what seems to leak grew by %s, but the resident memory by %s: it may replace memory from before attach, "+
			"as a full cache does", units.Bytes(f.Leaked), units.Bytes(max(0, f.Resident)))
	}},
	NotCollected: {"not-collected", SeriesUndecided, StatusNothing,
		always("what seems to leak is memory of JavaScript's buffers, and V8 has not yet looked whether most of it is used")},
	HeapMissing: {"heap-not-recorded", SeriesUndecided, StatusNothing, func(f Facts) string {
		return "of what C code allocates, no site grows to the end of the series, but the heap of " + f.OwnHeap + " is not recorded"
	}},
}

// String returns the name of a reason, such as "sites-leak".
func (r Reason) String() string { return reasons[r].name }

// Series returns the verdict that rests on a reason.
func (r Reason) Series() Series { return reasons[r].series }

// Status returns the exit status of a check for leaks.
func (r Reason) Status() Status { return reasons[r].status }

// DataMissing reports whether the series cannot be judged: the probability of a leak is not known.
func (r Reason) DataMissing() bool { return reasons[r].status == StatusNothing }

// Text returns the reason in words.
func (r Reason) Text(f Facts) string { return reasons[r].text(f) }

func always(text string) func(Facts) string { return func(Facts) string { return text } }

// together is what many sites do, as small ones or below one function.
func (f Facts) together(small, below string) string {
	if f.Small {
		return units.Count(f.Sites, "small site") + " " + small
	}
	return units.Count(f.Sites, "site") + " " + below
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
