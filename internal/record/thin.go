//go:build linux

package record

import "time"

// mostRedundant returns the index of the snapshot whose removal leaves the smallest gap, and the
// oldest of several. It never returns the first or the last one, and returns -1 if there are no
// others. If one snapshot is removed each time that one is added at a constant rate, the gaps
// between the rest differ at most by a factor of two.
func mostRedundant(times []time.Time) int {
	best := -1
	var least time.Duration
	for i := 1; i < len(times)-1; i++ {
		if gap := times[i+1].Sub(times[i-1]); best < 0 || gap < least {
			best, least = i, gap
		}
	}
	return best
}
