package report

import (
	"fmt"
	"math"
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

// limit holds the trend of the whole heap, with its interval, against the limit. nil where none was given or times are not known.
func (g *Growth) limit() *limitJSON {
	r := g.Result
	if g.MemoryLimit == 0 || !g.Series.Clock.Source.IsTime() || r.Total.Points < 2 {
		return nil
	}
	out := &limitJSON{Bytes: g.MemoryLimit, Of: "heap", Now: g.Series.Heads[r.Last].Heap().InuseBytes}
	if g.Series.RSS != nil && g.Series.RSS[r.Last] != nil {
		out.Of, out.Now = "rss", *g.Series.RSS[r.Last]
	}
	left := float64(g.MemoryLimit - out.Now)
	out.Seconds, out.Low, out.High = until(left, r.Total.Slope), until(left, r.Total.High), until(left, r.Total.Low)
	return out
}

// until is the time in which a slope covers what is left; nil for never.
func until(left, slope float64) *float64 {
	seconds := left / slope
	if left <= 0 {
		seconds = 0
	} else if slope <= 0 || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return nil
	}
	return &seconds
}

// limitLine is the limit in words, "" where none was given.
func (g *Growth) limitLine() string {
	if g.MemoryLimit == 0 {
		return ""
	}
	l := g.limit()
	switch {
	case l == nil:
		return fmt.Sprintf("when %s will be reached cannot be told: the times of the snapshots are not known", Bytes(g.MemoryLimit))
	case l.Now >= l.Bytes:
		return fmt.Sprintf("%s is reached: the %s is %s", Bytes(l.Bytes), l.Of, Bytes(l.Now))
	case l.Seconds == nil:
		return fmt.Sprintf("%s will not be reached by this trend", Bytes(l.Bytes))
	}
	within := fmt.Sprintf("%s at the earliest", duration(rounded(*l.Low)))
	if l.High != nil {
		within = fmt.Sprintf("%s to %s", duration(rounded(*l.Low)), duration(rounded(*l.High)))
	}
	return fmt.Sprintf("reaches %s in %s (%s) if the %s goes on as it does", Bytes(l.Bytes), duration(rounded(*l.Seconds)), within, l.Of)
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
