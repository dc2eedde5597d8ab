package growth

import (
	"fmt"
	"math"
	"strings"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/units"
)

// limitJSON is when the process reaches the memory limit if its trend continues, in seconds from
// the last judged snapshot. Null means never.
type limitJSON struct {
	Limit int64 `json:"bytes"`
	// Of is the value that is compared with the limit: "rss" if it was recorded, else "heap".
	Of      string   `json:"of"`
	Now     int64    `json:"now_bytes"`
	Seconds *float64 `json:"seconds"`
	Low     *float64 `json:"seconds_low"`
	High    *float64 `json:"seconds_high"`
}

// forecast is that of the memory limit. It returns nil if there is no limit or no trend.
func (g *Report) forecast() *limitJSON {
	if g.MemoryLimit == 0 || g.noForecast() != "" {
		return nil
	}
	f := limitJSON(g.Result.Forecast(g.MemoryLimit))
	return &f
}

// noForecast is the reason why there is no forecast; empty if there is one.
func (g *Report) noForecast() string {
	switch {
	case !g.Series.Clock.Source.IsTime():
		return "the times of the snapshots are not known"
	case g.Result.Total.Label == verdict.Insufficient:
		return fmt.Sprintf("a trend needs at least %d snapshots", verdict.MinPoints)
	}
	return ""
}

// Limit is the forecast for a reader; empty if there is no memory limit.
func (g *Report) Limit() string {
	if g.MemoryLimit == 0 {
		return ""
	}
	limit, l := units.Bytes(g.MemoryLimit), g.forecast()
	if l == nil {
		return fmt.Sprintf("cannot forecast when %s is reached: %s", limit, g.noForecast())
	}
	of := strings.Replace(l.Of, "rss", "RSS", 1)
	switch {
	case l.Now >= l.Limit:
		return fmt.Sprintf("%s is reached: the %s is %s", limit, of, units.Bytes(l.Now))
	case l.Seconds == nil:
		return fmt.Sprintf("this trend does not reach %s", limit)
	}
	within := fmt.Sprintf("%s at the earliest", units.Duration(rounded(*l.Low)))
	if l.High != nil {
		within = fmt.Sprintf("%s to %s", units.Duration(rounded(*l.Low)), units.Duration(rounded(*l.High)))
	}
	return fmt.Sprintf("reaches %s in %s (%s) if the %s continues to grow at this rate", limit,
		units.Duration(rounded(*l.Seconds)), within, of)
}

// rounded drops the digits of a number of seconds that a forecast cannot know.
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
