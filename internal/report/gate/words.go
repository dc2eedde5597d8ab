package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/units"
)

// metricText is what is compared, in a word.
func metricText(m gate.Metric) string {
	switch m {
	case gate.MetricSlope:
		return "growth"
	case gate.MetricAllocated:
		return "allocated"
	}
	return "in use"
}

// valueText is a comparison in words.
func (g *Report) valueText(v gate.Value) string {
	return fmt.Sprintf("%s → %s  %s %s", amount(v, v.Before), amount(v, v.After), changeText(v), g.against(v))
}

// changeText is +12.3 MiB (+50 %, 11 × noise).
func changeText(v gate.Value) string {
	return fmt.Sprintf("%s (%s)", units.SignedBytes(v.Delta())+unitOf(v), parts(v))
}

// parts are the change in percent, and in units of the noise where that is known.
func parts(v gate.Value) string {
	switch {
	case v.Noise <= 0 || math.Abs(v.Moved) >= 1: // the noise is held against the rest of a move only
		return percentText(v)
	case math.Abs(v.Z) >= gate.MaxZ:
		return percentText(v) + ", far above the noise"
	}
	return fmt.Sprintf("%s, %s × noise", percentText(v), compact(math.Abs(v.Z)))
}

// percentText is the change as a part of what was before.
func percentText(v gate.Value) string {
	switch {
	case v.Before > 0 && math.Abs(v.Delta()) < 9.995*v.Before:
		return fmt.Sprintf("%+.*f %%", digits(100*v.Delta()/v.Before), 100*v.Delta()/v.Before)
	case v.Before > 0:
		return fmt.Sprintf("%.0f times", v.After/v.Before)
	case v.Metric == gate.MetricSlope:
		return "from no growth"
	}
	return "new"
}

// digits after the point of a percentage.
func digits(percent float64) int {
	if math.Abs(percent) < 9.95 {
		return 1
	}
	return 0
}

// compact is a ratio with two digits at most.
func compact(f float64) string {
	if f < 9.95 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// amount is a value with its unit.
func amount(v gate.Value, f float64) string { return units.Bytes(f) + unitOf(v) }

// unitOf is what a metric is counted per.
func unitOf(v gate.Value) string {
	if v.Metric == gate.MetricSlope {
		return "/h"
	}
	return ""
}

// against names the base.
func (g *Report) against(v gate.Value) string {
	switch {
	case v.Base == gate.BaseReference:
		return "against the pinned run"
	case len(g.Baselines) == 1:
		return "against 1 earlier run"
	}
	return fmt.Sprintf("against the median of %s", units.Count(len(g.Baselines), "run"))
}

// blamed is the frame that a site is put down to, nil if there is none.
func blamed(s *baseline.Site) *baseline.Frame {
	if s == nil || s.Blame < 0 || s.Blame >= len(s.Frames) {
		return nil
	}
	return &s.Frames[s.Blame]
}

// viewOf describes the site of a row.
func viewOf(r *gate.Row) siteview.View { return siteview.OfRun(r.Site, r.Stacks) }

// joined puts two blanks between what is not empty.
func joined(parts ...string) string {
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "  ")
}
