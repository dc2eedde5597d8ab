package growth

import (
	"cmp"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Options tune [Judge]. The zero value works.
type Options struct {
	// MinBytes is the least growth that counts, in bytes; 0 takes what the time and the sampling of
	// the recording allow, at most [trend.DefaultMinGrowth], or [MinGoroutines] in a series of goroutine profiles.
	MinBytes int64
	// LeakConfidence is the least confidence of a leak; 0 takes [trend.LeakConfidence].
	LeakConfidence float64
	// All lists the stable sites, too.
	All bool
	// KeepStable keeps the stable sites in Result.Stable.
	KeepStable bool
	// Filter keeps some stacks; nil keeps all.
	Filter *symbolize.Filter
	// Rules decide which frame a site is attributed to; nil takes the default ones.
	Rules *class.Rules
	// GroupBy decides which stacks are one site; "" takes [sites.ByFunction].
	GroupBy sites.GroupBy
	// Suppressions are growth that is known; may be nil.
	Suppressions *suppress.List
	// From and To limit the snapshots that are judged to indices From ≤ i < To; To 0 is the end of
	// the series.
	From, To int
}

// MinGoroutines is the least growth of goroutine profiles that counts by default: 32 goroutines.
const MinGoroutines = 64 << 10

const (
	// leastRate is the rate in bytes per second that counts in a short recording: 16 MiB an hour.
	leastRate = float64(16<<20) / 3600
	// leastSamples is the number of samples that counts. Their number varies by its square root, and six differ from
	// none by 2.4 of that: chance does so once in a hundred times.
	leastSamples = 6
	// leastBytes bounds the least growth from below. A few blocks of a program that starts are that large.
	leastBytes = 64 << 10
)

// leastGrowth returns the least growth that counts by default: that of a low rate in the time of a short recording, or
// what sampling does not give by chance, and never more than [trend.DefaultMinGrowth].
func leastGrowth(w *window) int64 {
	head := w.series.Heads[w.First]
	switch {
	case head.Format == heapfile.FormatGoroutines:
		return MinGoroutines
	case !w.series.Clock.Source.IsTime():
		return trend.DefaultMinGrowth
	}
	least := max(leastBytes, leastRate*(w.time(w.Last)-w.time(w.First)))
	if head.IsEstimate() {
		least = max(least, leastSamples*float64(head.Period))
	}
	return int64(min(least, trend.DefaultMinGrowth))
}

// Judge judges every site of a series, and every group of sites that are attributed to the same
// frame: many small leaks under one caller may be significant only together. The collector must
// have visited the series.
func Judge(series *series.Series, symbols *symbolize.Symbols, c *sites.Collector, o Options) *Result {
	window := windowOf(series, o.From, o.To)
	o.MinBytes = cmp.Or(o.MinBytes, leastGrowth(&window))
	curves := curvesOf(window, c.Columns(series, symbols))
	blamer := class.NewBlamer(symbols, o.Rules)
	groups := groupsOf(&curves, symbols, blamer, o)
	cohort := cohortOf(&curves, groups.members, o.MinBytes)
	work := workOf(&window, &cohort)
	options := trend.Options{MinGrowth: float64(o.MinBytes), LeakConfidence: o.LeakConfidence}
	gained := groups.gained(&window)
	j := judgement{&curves, cohort, work, symbols, blamer, options, gained}
	listing := list(j.sites(groups.members), gained, o)
	heap := judgeHeap(&window, work, groups.heap, j.imported(groups.members), options)
	if o.Filter != nil {
		heap = heap.withoutProcess()
	}
	causes := j.causes(groups.members, &listing, &heap)
	return conclude(&j, &groups, &heap, &listing, &causes)
}
