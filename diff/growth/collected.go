package growth

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

const (
	// leastCollected is the share of memory that has been in use for a while that a collection releases at least. V8
	// releases it at no other time.
	leastCollected = 0.01
	// heldShare is the share of what seems to leak that must have lived through a collection to be judged.
	heldShare = 0.25
)

// uncollected reports whether most of what seems to leak is memory of JavaScript's buffers that no collection has
// looked at yet: nobody knows whether it is used. leaking are the call paths that leak.
func (j *judgement) uncollected(leaking []symbolize.SiteID) bool {
	collected := slices.DeleteFunc(slices.Clone(leaking), func(id symbolize.SiteID) bool {
		return !j.blamer.Collected(j.stack(id))
	})
	return 2*j.growth(collected) > j.growth(leaking) && isAwaited(j.ages.Of(j.allCollected()))
}

// allCollected returns the call paths that have memory of JavaScript's buffers.
func (j *judgement) allCollected() (out []symbolize.SiteID) {
	for i := range j.gained {
		if id := symbolize.SiteID(i); j.blamer.Collected(j.stack(id)) {
			out = append(out, id)
		}
	}
	return out
}

// isAwaited reports whether most of the memory of JavaScript's buffers was allocated after the last collection, while
// V8 had no reason for another one. parts are the cohorts by the part of the series at whose end they were in use.
func isAwaited(parts []ages.Cohorts) bool {
	if len(parts) == 0 {
		return false
	}
	since := 0 // the first part of which nothing has been through a collection
	for k := 2; k < len(parts); k++ {
		before, after := sum(parts[k-1][:k-1]), sum(parts[k][:k-1])
		if float64(before-after) > leastCollected*float64(before) {
			since = k
		}
	}
	last := parts[len(parts)-1]
	held, rest := sum(last[:since]), sum(last[since:])
	return float64(held) < heldShare*float64(held+rest) && rest < class.CollectedLater
}

func sum(list []int64) (total int64) {
	for _, bytes := range list {
		total += bytes
	}
	return total
}
