package gate

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// metric is a quantity that is compared, in bytes: a function of a row's level in a run, which is
// given by its index.
type metric struct {
	name Metric
	// judged reports whether the metric can fail the gate; else it is only shown.
	judged bool
	// usable reports whether a run has the metric, in a form that compares with that of the current
	// run.
	usable func(run int) bool
	// bytes is the quantity.
	bytes func(run int, l baseline.Level) float64
	// known is its standard deviation, as far as it is known without other runs.
	known func(run int, l baseline.Level) float64
	// span is how far the quantity ranges within a run: by its trend while it is measured, or because
	// it falls and rises again; may be nil.
	span func(run int, l baseline.Level) float64
	// heap is the quantity, of the whole heap, that the threshold Share refers to.
	heap func(run int, l baseline.Level) float64
	// unit is the factor from the quantity of a run to the value that is shown.
	unit func(run int) float64
}

// view is one metric against one base.
type view struct {
	metric
	base Base
	// set are the usable runs of the baseline set. Their scatter is the noise.
	set []int
	// centre are the runs whose median is compared with: set, or the reference run.
	centre []int
}

// significant reports whether the set is large enough to estimate the noise between runs.
func (v *view) significant() bool { return len(v.set) >= LeastBaselines }

// views are all comparisons that the runs allow: the levels first, each metric with the set before
// the reference run.
func (rs runs) views() (out []*view) {
	for _, m := range []metric{rs.level(), rs.slope(), rs.allocated()} {
		if !m.usable(0) {
			continue
		}
		var set []int
		for _, run := range rs.set {
			if m.usable(run) {
				set = append(set, run)
			}
		}
		if len(set) > 0 {
			out = append(out, &view{m, BaseSet, set, set})
		}
		if rs.reference > 0 && m.usable(rs.reference) {
			out = append(out, &view{m, BaseReference, set, []int{rs.reference}})
		}
	}
	return out
}

func inUse(_ int, l baseline.Level) float64 { return l.Bytes }

// level compares the steady level of the bytes in use.
func (rs runs) level() metric {
	return metric{
		name: MetricLevel, judged: true,
		usable: func(int) bool { return true },
		bytes:  inUse,
		known:  func(_ int, l baseline.Level) float64 { return l.Noise },
		span: func(run int, l baseline.Level) float64 {
			return max(l.Slope*rs.hours(run)/2, l.Swing) // the level is that of the second half
		},
		heap: inUse,
		unit: func(int) float64 { return 1 },
	}
}

// hours is the length of a run.
func (rs runs) hours(run int) float64 { return rs.all[run].Meta.Span / 3600 }

// slope compares what the slope gains over a whole run, not in an hour: a faster machine does the
// same work in less time. The Share of the thresholds refers to the bytes in use. The error of a
// slope is that of its fit, and of sampling: of memory that is replaced during the run, other
// blocks are sampled at the end than at the beginning.
func (rs runs) slope() metric {
	hours := rs.hours
	return metric{
		name: MetricSlope, judged: true,
		usable: rs.hasSlope,
		bytes:  func(run int, l baseline.Level) float64 { return l.Slope * hours(run) },
		known:  func(run int, l baseline.Level) float64 { return math.Hypot(l.SlopeError*hours(run), l.Noise) },
		span:   func(_ int, l baseline.Level) float64 { return 2 * l.Swing }, // within the second half
		heap:   inUse,
		unit:   func(run int) float64 { return 1 / hours(run) },
	}
}

// allocated compares the cumulative bytes: scaled to the work of the current run if it is known;
// else those of runs of the same length. The latter cannot fail the gate, because a run that does
// more work allocates more.
func (rs runs) allocated() metric {
	m := metric{
		name: MetricAllocated, judged: rs.hasWork(),
		usable: rs.hasAllocated,
		bytes:  func(_ int, l baseline.Level) float64 { return l.AllocBytes },
		known:  func(int, baseline.Level) float64 { return 0 },
		unit:   func(int) float64 { return 1 },
	}
	if rs.hasWork() {
		work := rs.current().Meta.Work
		m.bytes = func(run int, l baseline.Level) float64 { return l.AllocBytes * work / rs.all[run].Meta.Work }
		m.unit = func(int) float64 { return 1 / work }
	}
	m.heap = m.bytes
	return m
}

const (
	// slopeLength is the largest ratio of the lengths of two runs whose slopes are compared: if the
	// rate of a leak changes, a longer run has another slope.
	slopeLength = 1.5
	// allocatedLength is the same for allocated bytes without an amount of work.
	allocatedLength = 1.1
)

// sameLength reports whether a run and the current one differ in length by a factor of at most
// ratio.
func (rs runs) sameLength(run int, ratio float64) bool {
	a, b := rs.current().Meta.Span, rs.all[run].Meta.Span
	return a > 0 && b > 0 && max(a, b) <= ratio*min(a, b)
}

// hasSlope reports whether the slopes of a run compare with those of the current one.
func (rs runs) hasSlope(run int) bool { return rs.sameLength(run, slopeLength) }

// hasWork reports whether allocated bytes are compared per unit of work.
func (rs runs) hasWork() bool { return rs.current().Meta.Work > 0 }

// hasAllocated reports whether the allocated bytes of a run compare with those of the current one.
func (rs runs) hasAllocated(run int) bool {
	m := &rs.all[run].Meta
	if !m.HasAlloc || rs.hasWork() != (m.Work > 0) {
		return false
	}
	return rs.hasWork() || rs.sameLength(run, allocatedLength)
}
