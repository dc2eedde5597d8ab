package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// metricText names a metric.
func metricText(m gate.Metric) string {
	switch m {
	case gate.MetricSlope:
		return "growth"
	case gate.MetricAllocated:
		return "allocated"
	}
	return "level"
}

// valueText returns a comparison as text.
func (g *Report) valueText(v gate.Value) string {
	return fmt.Sprintf("%s → %s  %s %s", amount(v, v.Before), amount(v, v.After), changeText(v), g.against(v))
}

// changeText is +12.3 MiB (+50 %, 11 × noise).
func changeText(v gate.Value) string {
	return fmt.Sprintf("%s (%s)", units.SignedBytes(v.Delta())+unitOf(v), parts(v))
}

// judged is a value without the part of the change that moved: what the thresholds apply to.
func judged(v gate.Value) gate.Value {
	v.After, v.Moved = v.Before+v.Rest(), 0
	return v
}

// parts are the change in percent and, if the noise is known, in multiples of it.
func parts(v gate.Value) string {
	switch {
	case v.Noise <= 0 || math.Abs(v.Moved) >= 1: // the noise is compared only with what did not move
		return percentText(v)
	case math.Abs(v.Z) >= gate.MaxZ:
		return fmt.Sprintf("%s, more than %d × noise", percentText(v), gate.MaxZ)
	}
	return fmt.Sprintf("%s, %s × noise", percentText(v), compact(math.Abs(v.Z)))
}

// percentText is the change relative to the value before.
func percentText(v gate.Value) string {
	switch {
	case v.Delta() == 0:
		return "+0.0 %"
	case v.Before > 0 && math.Abs(v.Delta()) < 9.995*v.Before:
		return fmt.Sprintf("%+.*f %%", digits(100*v.Delta()/v.Before), 100*v.Delta()/v.Before)
	case v.Before > 0:
		return fmt.Sprintf("%.0f times", v.After/v.Before)
	case v.Metric == gate.MetricSlope && v.Before < 0 && v.After < 0:
		return "it shrank in both"
	case v.Metric == gate.MetricSlope && v.Before < 0:
		return "it shrank before"
	case v.Metric == gate.MetricSlope:
		return "from no growth"
	}
	return "new"
}

// digits is the number of decimals of a percentage.
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

// unitOf is what a metric is per.
func unitOf(v gate.Value) string {
	if v.Metric == gate.MetricSlope {
		return "/h"
	}
	return ""
}

// against names the base of a comparison.
func (g *Report) against(v gate.Value) string {
	switch {
	case v.Base == gate.BaseReference:
		return "against the reference run"
	case len(g.Baselines) == 1:
		return "against 1 earlier run"
	}
	return fmt.Sprintf("against the median of %s", units.Count(len(g.Baselines), "run"))
}

// blamed is the frame that a site is attributed to; nil if there is none.
func blamed(s *baseline.Site) *symbolize.Frame {
	if s == nil || s.Blame < 0 || s.Blame >= len(s.Frames) {
		return nil
	}
	return &s.Frames[s.Blame]
}

// viewOf describes the site of a row.
func viewOf(r *gate.Row) siteview.View { return siteview.OfRun(r.Site, r.Stacks) }

// holder is what holds nearly all blocks of the site of a row; "" if that is not known.
func holder(r *gate.Row) string {
	const most = 300 // columns
	if r.Site == nil {
		return ""
	}
	return text.Clip(r.Site.Holder, most)
}

// nowHeld is holder in the words of a report: "now held by …", because it may have been another holder before.
func nowHeld(r *gate.Row) string {
	line := holder(r)
	if strings.HasPrefix(line, "held by ") {
		return "now " + line
	}
	return line
}

// lost are the records of other tools on the function of a row.
func (g *Report) lost(r *gate.Row) []*evidence.Record {
	if f := blamed(r.Site); f != nil {
		return g.Losses.At(*f)
	}
	return nil
}

// losses are what other tools found at a row, in lines. path is the call path that is shown of it.
func (g *Report) losses(r *gate.Row, path string) []string {
	records := g.lost(r)
	lines := siteview.Losses(records)
	if at := siteview.LossPath(records, logWidth-5, path); at != "" {
		lines = append(lines, at)
	}
	return lines
}

// named is the name and the place of a row, the name at most width characters long.
func named(r *gate.Row, width int) string {
	v := viewOf(r)
	return joined(v.Clipped(width), v.Where)
}

// joined puts two blanks between the parts that are not empty.
func joined(parts ...string) string { return text.Join("  ", parts...) }
