package sites

import (
	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

const (
	// longStart is the least time from an empty first snapshot to the second one, in median intervals
	// of the others, for which it is left out.
	longStart = 5
	// leastStarted is the least number of snapshots after it.
	leastStarted = 8
)

// firstStarted returns the first of the snapshots from first to last at which the program ran. massif
// writes an empty snapshot when Valgrind starts, and further ones only when the program allocates, which
// may be much later. Over the time between, nothing could grow.
func firstStarted(s *series.Series, first, last int) int {
	if last-first < leastStarted || !s.Clock.Source.IsTime() || s.Heads[first].Heap().InuseBytes != 0 {
		return first
	}
	at := s.Clock.At[first : last+1]
	var intervals []float64
	for i := 2; i < len(at); i++ {
		intervals = append(intervals, at[i]-at[i-1])
	}
	if at[1]-at[0] <= longStart*stats.Median(intervals) {
		return first
	}
	return first + 1
}
