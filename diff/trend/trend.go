package trend

import (
	"cmp"
	"math"

	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// Points is a time series. All slices have the same length; T rises.
type Points struct {
	T []float64 // seconds, or what else the clock counts
	// Work is the work that the process had done by then, such as its processor time or the bytes
	// that it had allocated; nil if unknown. It never falls.
	Work    []float64
	Live    []float64 // bytes in use
	Objects []float64 // objects in use
	Alloc   []float64 // bytes allocated since the start; nil if unknown
	// Period is the mean number of bytes between samples if Live and Objects are estimates; 0 for
	// exact counts.
	Period float64
	// MedianRise is the median [Rise] of the series of the process that change and exist early.
	MedianRise float64
	// Growers is the number of sites of the process that grew.
	Growers int
	// Share is the growth of the series over that of the heap.
	Share float64
	// InStep is the correlation of the steps of the series with those of the other series of the
	// process that grow, 0 if it is negative or unknown.
	InStep float64
	// HighWater reports whether the points were taken at record highs of the heap, so that the heap
	// rises by construction.
	HighWater bool
	// EndUnseen reports whether the process worked on for long after the last point, and probably
	// did not grow.
	EndUnseen bool
	// Dominates reports whether the series makes up most of the heap's growth. It then rises by
	// construction as the heap does.
	Dominates bool
	// ImportShare is the share of the growth, 0 to 1, that code allocated which runs once in a
	// process, such as that of a module that is imported. It names what does not leak, and does not
	// change the probability.
	ImportShare float64
	// Births, which may be nil, tells when what is in use at the end was allocated, in the unit of T; nil
	// if that is unknown. It is called if the series grew.
	Births func() *births.Births
	// OtherImage is the same site in another process image, before or after a restart; nil if there
	// is none. Only T and Live are used.
	OtherImage *Points
}

// Options are the thresholds. The zero value takes the defaults.
type Options struct {
	// MinGrowth is the least growth over the series that counts, in bytes; 0 takes
	// DefaultMinGrowth.
	MinGrowth float64
	// LeakConfidence is the least confidence of a leak; 0 takes the constant of this name.
	LeakConfidence float64
}

// DefaultMinGrowth is the least growth that counts by default, in bytes.
const DefaultMinGrowth = 1 << 20

// Verdict is what [Judge] finds, with the numbers that it rests on.
type Verdict struct {
	Label verdict.Site
	// Confidence is the probability that the series leaks. It is set for every label.
	Confidence float64
	// Otherwise is the label if the series does not leak. CanLeak reports whether it grew enough to
	// be called a leak.
	Otherwise verdict.Site
	CanLeak   bool
	// Features are what Confidence was computed from; zero for a series that hardly grew.
	Features Features
	// Births are those of what it has in use at the end; nil if that is not known, or Features are zero.
	Births *births.Features
	// Slope in bytes per unit of T, with the 95 % interval that follows from the scatter around the line. Sites are
	// ranked by Low. [Verdict.Interval] is what to show: it has the error by sampling, too.
	Slope, Low, High float64
	// SlopeError is the standard error of Slope by sampling; 0 for exact counts.
	SlopeError float64
	// Growth is the slope times the span, in bytes.
	Growth float64
	// Sigma is the standard deviation around the trend, in bytes.
	Sigma float64
	// Z is Mann-Kendall's statistic.
	Z float64
	// Tail is the slope of the last part over the whole slope: 1 for a straight line, 0 for a
	// plateau.
	Tail float64
	// Retention is the share of the bytes allocated in the last part that stay in use; NaN if
	// unknown.
	Retention float64
	// Resizing reports whether bytes grow and the number of objects does not, as when one table
	// doubles.
	Resizing bool
	// WorkIsLoad reports whether the work of the process is not used, because it rises with the
	// allocations of the series.
	WorkIsLoad bool
	// ImportShare is that of the points.
	ImportShare float64
	// Points is the number of points.
	Points int
	// SampleError is the variance by sampling of each byte of the series, in bytes: that of a growth of N times this is
	// as large as that of N small samples. 0 means that every allocation counts.
	SampleError float64
}

// LeastScale is the share of MinGrowth below which a series is stable without a closer look.
const LeastScale = 0.3

// Judge labels a series: it prepares the points, describes them by features, turns these into a
// confidence, and the confidence into a label. A series that hardly grew has neither features nor a
// confidence.
func Judge(p Points, o Options) Verdict {
	s, ok := prepare(p, o)
	if !ok {
		return Verdict{Label: verdict.Insufficient, Otherwise: verdict.Insufficient, Points: len(p.T), Retention: math.NaN()}
	}
	l := s.line()
	v := Verdict{
		Label: verdict.Stable, Otherwise: verdict.Stable, Points: len(p.T), ImportShare: p.ImportShare, Z: l.z,
		Tail: l.tail.Slope / l.Slope, Retention: l.retention, SampleError: p.sampleError(),
	}
	v.setLine(l)
	if growth := s.growth(l); growth >= LeastScale*s.minGrowth {
		v = s.judgeGrown(v, l, growth)
	}
	v.Resizing = s.resizing(v.Growth)
	v.Slope, v.Low, v.High, v.SlopeError = v.Slope/s.span, v.Low/s.span, v.High/s.span, v.SlopeError/s.span
	return v
}

// judgeGrown returns the verdict on a series that grew.
func (s *series) judgeGrown(v Verdict, l line, growth float64) Verdict {
	if v.WorkIsLoad = s.workIsLoad(l); v.WorkIsLoad {
		s = s.overTime()
	}
	c := s.curves()
	v.Features = s.features(l, c, growth)
	if s.Births != nil {
		v.Births = s.Births().Describe(s.T[0], s.span, growth)
	}
	v.Otherwise, v.CanLeak = s.otherwise(l, c, growth), s.canLeak(l, growth)
	v.setLabel(min(Confidence(&v.Features, v.Births), s.mostConfidence(l)), s.leakAt)
	if late, ok := s.lateLeak(v.Label, &v.Features, growth); ok {
		if !s.leakedBefore(&v, late) {
			v.Label = verdict.LeakLate
		}
		v.setLine(late)
	}
	return v
}

// Interval returns the 95 % interval of Slope: the sum of the variances by scatter and by sampling.
func (v Verdict) Interval() (low, high float64) {
	if v.SlopeError == 0 {
		return v.Low, v.High
	}
	const sides = 1.96 // standard errors
	sampling := sides * v.SlopeError
	return v.Slope - math.Hypot(v.Slope-v.Low, sampling), v.Slope + math.Hypot(v.High-v.Slope, sampling)
}

// WithConfidence returns the verdict with another confidence, and the label that follows from it.
func (v Verdict) WithConfidence(confidence, leakAt float64) Verdict {
	late := v.Label == verdict.LeakLate
	v.setLabel(confidence, cmp.Or(leakAt, LeakConfidence))
	if late && v.Label == verdict.Leak {
		v.Label = verdict.LeakLate
	}
	return v
}

// Of returns the verdict with the probability that a part of the series leaks, the only one that
// can.
func (v Verdict) Of(part Verdict, o Options) Verdict {
	v.CanLeak = part.CanLeak
	return v.WithConfidence(part.Confidence, o.LeakConfidence)
}

// setLabel sets the confidence and the label. The confidence alone decides whether a series is a
// leak, a suspect or neither.
func (v *Verdict) setLabel(confidence, leakAt float64) {
	v.Confidence, v.Label = confidence, v.Otherwise
	switch {
	case v.CanLeak && confidence >= leakAt:
		v.Label = verdict.Leak
	case v.CanLeak && confidence >= SuspectConfidence:
		v.Label = verdict.Suspect
	}
}

// setLine takes the numbers of a line over the span.
func (v *Verdict) setLine(l line) {
	v.Slope, v.Low, v.High, v.SlopeError = l.Slope, l.Low, l.High, l.sampling
	v.Growth, v.Sigma = l.over, l.sigma
}
