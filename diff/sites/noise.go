package sites

import (
	"math"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// SamplingNoise returns the standard deviation of an estimate of L bytes in use: √(2·R·L) for one
// sample per R bytes; 0 for a snapshot that records every allocation.
func SamplingNoise(head *series.Head, bytes int64) float64 {
	if !head.IsEstimate() {
		return 0
	}
	return math.Sqrt(2 * float64(head.Period) * max(0, float64(bytes)))
}
