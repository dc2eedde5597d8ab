// Package measure puts into words what the verdict on a site rests on: its trend, noise, steps,
// end, shape and load. What it says of features is in their table ([trend.Features.Explain]).
package measure

import (
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Line is one measurement.
type Line struct{ Of, Text string }

// order is that of the lines.
var order = [...]string{
	"trend", "noise", "steps", "end", "work", "shape", "load", "objects", "sampling", "ages", "imports", "trigger",
}

// Lines are the measurements that the verdict on a site rests on. Rates are per unit; factor turns
// a slope into one. objects reports whether the snapshots count objects.
func Lines(s *growth.Site, unit string, factor float64, objects bool) (list []Line) {
	for _, of := range order {
		text := s.Features.Explain(of)
		switch of {
		case "trend":
			text = rate(s, unit, factor) + "; " + text
		case "noise":
			text = noise(s, text)
		case "work":
			if s.WorkIsLoad {
				text = "the process works faster because more is allocated at a time, so that the site is judged over time only"
			}
		case "objects":
			if !objects {
				text = ""
			}
		case "ages":
			text = ages(s)
		case "imports":
			text = imports(s)
		}
		if text != "" {
			list = append(list, Line{of, text})
		}
	}
	return list
}

// rate is the rate of growth, with its interval.
func rate(s *growth.Site, unit string, factor float64) string {
	low, high := s.Interval()
	return fmt.Sprintf("%s per %s (95 %% interval: %s to %s)",
		units.SignedBytes(s.Slope*factor), unit, units.SignedBytes(low*factor), units.SignedBytes(high*factor))
}

// noise is how much a site varies, and what the features say of that.
func noise(s *growth.Site, said string) string {
	if s.Sigma < 1 {
		return "it does not vary around the trend"
	}
	return fmt.Sprintf("it varies by %s around the trend; %s", units.Bytes(int64(s.Sigma)), said)
}

// ages tells how much of the growth is old, whether old memory dies, and what the confidence would be without that; ""
// if it is not known.
func ages(s *growth.Site) string {
	b := s.Births
	if b == nil {
		return ""
	}
	kept := ""
	if b.Settles() {
		kept = fmt.Sprintf("%.0f %% of what was old after three quarters of the time is still in use; ", 100*min(1, b[births.Settled]))
	}
	return fmt.Sprintf(
		"what was allocated in the first half and is in use is %.0f %% of the growth; %swithout ages, the chance of a leak would be %.0f %%",
		100*b[births.Half], kept, 100*trend.Confidence(&s.Features, nil),
	)
}

// imports is the share of the growth that code has which runs once; "" if there is none.
func imports(s *growth.Site) string {
	if s.ImportShare <= 0 {
		return ""
	}
	return fmt.Sprintf(
		"%.0f %% of the growth is code of Python modules that are imported, which runs once; the chance of a leak is that of the rest",
		100*s.ImportShare)
}

// ByName are the measurements by name.
func ByName(f *trend.Features) map[string]float64 {
	out := map[string]float64{}
	for k, v := range f {
		out[trend.Feature(k).String()] = v
	}
	return out
}
