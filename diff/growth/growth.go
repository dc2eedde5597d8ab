package growth

import (
	"cmp"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
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
	// Ages tell when memory of the judged snapshots was allocated; may be nil.
	Ages *ages.Ages
	// From and To limit the snapshots that are judged to indices From ≤ i < To; To 0 is the end of
	// the series.
	From, To int
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
	j := judgement{&curves, cohort, work, o.Ages, symbols, blamer, options, gained}
	listing := list(j.sites(groups.members), gained, o)
	heap := j.heap(&groups)
	if o.Filter != nil {
		heap = heap.withoutProcess()
	}
	causes := j.causes(groups.members, &listing, &heap)
	return conclude(&j, &groups, &heap, &listing, &causes)
}
