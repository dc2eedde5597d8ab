package growth

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/verdict"
)

// Forecast is when a process reaches a memory limit if its trend continues, in seconds from the last judged snapshot.
// Nil means never.
type Forecast struct {
	Limit int64 // in bytes
	// Of is the value that is compared with the limit: "rss" if it was recorded, else "heap".
	Of  string
	Now int64 // in bytes
	// Low and High are the ends of the 95 % interval.
	Seconds, Low, High *float64
}

// Forecast extrapolates the trend of the resident set, or else of the heap. The clock of the series must be time.
func (r *Result) Forecast(limit int64) Forecast {
	f, slope := Forecast{Limit: limit, Of: "heap", Now: r.LastHeap}, r.Total
	if r.RSS != nil && r.RSS.Label != verdict.Insufficient {
		f.Of, f.Now, slope = "rss", r.LastRSS, *r.RSS
	}
	left := float64(limit) - float64(f.Now)
	f.Seconds, f.Low, f.High = timeToCover(left, slope.Slope), timeToCover(left, slope.High), timeToCover(left, slope.Low)
	return f
}

// horizon is the longest forecast, in seconds: ten years.
const horizon = 10 * 365 * 86400

// timeToCover returns the time in which a slope covers a distance, in seconds, or nil beyond the horizon.
func timeToCover(distance, slope float64) *float64 {
	seconds := distance / slope
	if distance <= 0 {
		seconds = 0
	} else if slope <= 0 || math.IsNaN(seconds) || seconds > horizon {
		return nil
	}
	return &seconds
}
