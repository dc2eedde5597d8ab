package growth

import (
	"fmt"
	"math"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/units"
)

// limitJSON says when the process reaches a limit, if it goes on as it does: seconds from the last judged snapshot. Null stands for never.
type limitJSON struct {
	Bytes int64 `json:"bytes"`
	// Of is what was held against the limit: "rss" where it was recorded, else "heap".
	Of      string   `json:"of"`
	Now     int64    `json:"now_bytes"`
	Seconds *float64 `json:"seconds"`
	Low     *float64 `json:"seconds_low"`
	High    *float64 `json:"seconds_high"`
}

// limit holds the trend of the resident set or else of the heap, with its interval, against the limit. nil where none was given or nothing
// can be foretold.
func (g *Report) limit() *limitJSON {
	r := g.Result
	if g.MemoryLimit == 0 || g.noForecast() != "" {
		return nil
	}
	out, slope := &limitJSON{Bytes: g.MemoryLimit, Of: "heap", Now: r.LastHeap}, r.Total
	if r.RSS != nil && r.RSS.Label != trend.Insufficient {
		out.Of, out.Now, slope = "rss", r.LastRSS, *r.RSS
	}
	left := float64(g.MemoryLimit) - float64(out.Now)
	out.Seconds, out.Low, out.High = until(left, slope.Slope), until(left, slope.High), until(left, slope.Low)
	return out
}

// noForecast says why nothing can be foretold, "" if it can.
func (g *Report) noForecast() string {
	switch {
	case !g.Series.Clock.Source.IsTime():
		return "the times of the snapshots are not known"
	case g.Result.Total.Label == trend.Insufficient:
		return fmt.Sprintf("fewer than %d snapshots make no trend", trend.MinPoints)
	}
	return ""
}

// farthest is how far a forecast goes, in seconds: ten years.
const farthest = 10 * 365 * 86400

// until is the time in which a slope covers what is left; nil for never, or not within ten years.
func until(left, slope float64) *float64 {
	seconds := left / slope
	if left <= 0 {
		seconds = 0
	} else if slope <= 0 || math.IsNaN(seconds) || seconds > farthest {
		return nil
	}
	return &seconds
}

// limitLine is the limit in words, "" where none was given.
func (g *Report) limitLine() string {
	if g.MemoryLimit == 0 {
		return ""
	}
	l := g.limit()
	switch {
	case l == nil:
		return fmt.Sprintf("when %s will be reached cannot be told: %s", units.Bytes(g.MemoryLimit), g.noForecast())
	case l.Now >= l.Bytes:
		return fmt.Sprintf("%s is reached: the %s is %s", units.Bytes(l.Bytes), l.Of, units.Bytes(l.Now))
	case l.Seconds == nil:
		return fmt.Sprintf("%s will not be reached by this trend", units.Bytes(l.Bytes))
	}
	within := fmt.Sprintf("%s at the earliest", units.Duration(rounded(*l.Low)))
	if l.High != nil {
		within = fmt.Sprintf("%s to %s", units.Duration(rounded(*l.Low)), units.Duration(rounded(*l.High)))
	}
	return fmt.Sprintf("reaches %s in %s (%s) if the %s goes on as it does", units.Bytes(l.Bytes), units.Duration(rounded(*l.Seconds)), within, l.Of)
}

// rounded drops digits that no forecast has.
func rounded(seconds float64) float64 {
	switch {
	case seconds > 2*86400:
		return math.Round(seconds/3600) * 3600
	case seconds > 7200:
		return math.Round(seconds/60) * 60
	case seconds > 60:
		return math.Round(seconds)
	}
	return seconds
}
