package growth

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
)

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

// leastRateSeen returns the rate of the least leak that the recording hardly misses, in bytes per unit of its clock,
// for a least growth that counts. Small objects that leak G bytes are estimated with the variance G times the period,
// and the estimate must reach the least growth at the lower end of its 90 % interval:
//
//	G − z·√(period·G) = least
func leastRateSeen(w *window, least float64) float64 {
	const z = 1.645
	sampling := z * math.Sqrt(w.period)
	root := (sampling + math.Sqrt(sampling*sampling+4*least)) / 2
	return root * root / (w.time(w.Last) - w.time(w.First))
}
