// Package measure puts into words what the verdict on a site rests on: its trend, noise, steps,
// end, shape and load. What it says of features is in their table ([trend.Features.Explain]).
package measure

import (
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Line is one measurement.
type Line struct{ Of, Text string }

// order is that of the lines.
var order = [...]string{
	"trend", "noise", "steps", "end", "work", "shape", "load", "objects", "sampling", "imports", "trigger",
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
