package growth

import (
	"iter"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
)

// cohort is what the sites of a process have in common: when they allocate, and when they grow.
type cohort struct {
	// work is the work that the process had done by each judged snapshot, by the allocations of its
	// sites; nil if too few of them allocate all the time.
	work []float64
	// steps are the steps of each group that grew, over its growth; nil for the others.
	steps [][]float64
	// all is their sum, growers their number.
	all     []float64
	growers int
}

const (
	// mostGroups bounds the groups that are looked at. Of more, evenly spaced ones are taken.
	mostGroups = 512
	// leastActive is the least number of sites from which the work is taken.
	leastActive = 8
	// activeShare is the share of the intervals in which such a site allocates.
	activeShare = 0.9
	// leastGrowers is the least number of groups that grew from which a correlation is taken.
	leastGrowers = 12
	// largestStep bounds a step over the growth: what grew little may have moved a lot.
	largestStep = 3
)

// cohortOf looks at the groups of a process.
func cohortOf(c *curves, groups [][]symbolize.SiteID, minBytes int64) cohort {
	n := c.Len() - 1
	if n < 1 {
		return cohort{}
	}
	out := cohort{steps: make([][]float64, len(groups)), all: make([]float64, n)}
	increments := make([][]float64, n)
	stride := max(1, (len(groups)+mostGroups-1)/mostGroups)
	for i, m := range c.moves(groups, stride, minBytes) {
		if m.steps != nil {
			out.add(i*stride, m.steps)
		}
		for k, share := range m.increments {
			increments[k] = append(increments[k], share)
		}
	}
	if len(increments[0]) >= leastActive {
		out.work = sumOfMedians(increments)
	}
	return out
}

// moves are when a group grows and allocates: its steps and those of its allocated bytes, both over
// the growth. They are nil of a group that did not grow, or does not allocate all the time, and of
// one that a snapshot hides.
type moves struct{ steps, increments []float64 }

// moves are those of each stride-th group.
func (c *curves) moves(groups [][]symbolize.SiteID, stride int, minBytes int64) []moves {
	out := make([]moves, (len(groups)+stride-1)/stride)
	onAllProcessors(len(out), func(numbers iter.Seq[int]) {
		for i := range numbers {
			column := c.columns.Sum(groups[i*stride])
			bytes, alloc := column.Bytes[c.First:c.Last+1], column.Alloc[c.First:c.Last+1]
			if slices.Contains(bytes, sites.Hidden) {
				continue
			}
			if float64(bytes[len(bytes)-1]-bytes[0]) >= trend.LeastScale*float64(minBytes) {
				out[i].steps = shares(bytes)
			}
			if c.hasAlloc && isActive(alloc) {
				out[i].increments = shares(alloc)
			}
		}
	})
	return out
}

// add adds the steps of a group.
func (c *cohort) add(group int, steps []float64) {
	for k := range steps {
		steps[k] = max(-largestStep, min(largestStep, steps[k]))
		c.all[k] += steps[k]
	}
	c.steps[group] = steps
	c.growers++
}

// shares are the steps of a curve over its growth.
func shares(y []int64) []float64 {
	out := make([]float64, len(y)-1)
	growth := float64(y[len(y)-1] - y[0])
	for k := range out {
		out[k] = float64(y[k+1]-y[k]) / growth
	}
	return out
}

// isActive reports whether a site allocates in nearly all intervals. The restart of a counter and
// hidden values rule it out.
func isActive(alloc []int64) bool {
	rises := 0
	for k := 1; k < len(alloc); k++ {
		if alloc[k] > alloc[k-1] && alloc[k-1] >= 0 {
			rises++
		}
	}
	return rises > 0 && alloc[len(alloc)-1] > alloc[0] && float64(rises) >= math.Floor(activeShare*float64(len(alloc)-1))
}

// sumOfMedians sums the median shares of each interval. A site that allocates most of the bytes
// counts as much as any other: its load may change by itself.
func sumOfMedians(increments [][]float64) []float64 {
	out := make([]float64, len(increments)+1)
	for k, shares := range increments {
		slices.Sort(shares)
		out[k+1] = out[k] + max(0, shares[len(shares)/2])
	}
	return out
}

// inStep is the correlation of the steps of a group with those of the other groups that grew; 0 if it
// is negative or if few groups grew.
func (c *cohort) inStep(group int) float64 {
	if c.growers < leastGrowers || c.steps[group] == nil {
		return 0
	}
	own := c.steps[group]
	others := make([]float64, len(own))
	for k := range own {
		others[k] = c.all[k] - own[k]
	}
	return math.Sqrt(stats.Explained(own, others))
}
