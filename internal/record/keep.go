//go:build linux

package record

import "time"

// superfluous is the index of the snapshot to drop when one too many is kept: of all but the first and the last the one
// whose neighbours are nearest to each other, the older of equals. What is left stays spread
// over the whole run, with gaps that differ by no more than twice.
func superfluous(times []time.Time) int {
	best := -1
	var least time.Duration
	for i := 1; i < len(times)-1; i++ {
		if gap := times[i+1].Sub(times[i-1]); best < 0 || gap < least {
			best, least = i, gap
		}
	}
	return best
}
