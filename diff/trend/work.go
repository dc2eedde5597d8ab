package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// Two clocks. A program that shares its machine gets processor time at an uneven rate, and one that
// idles over night does little: over time, its leaks seem to slow down or to stop. Over the work of
// the process they are lines. Conversely, what depends on time, such as a timer, is a line over
// time only. So a series is described over both.

// timeShare is the share of the time in the axis of work, so that two points never coincide.
const timeShare = 0.02

// workAxis maps the work at each point to 0 to 1. It returns nil if the work is not known.
func workAxis(t, work []float64) []float64 {
	if work == nil || !(work[len(work)-1] > work[0]) {
		return nil
	}
	axis := normalised(work)
	for i := range axis {
		if i > 0 && !(work[i] >= work[i-1]) {
			return nil
		}
		axis[i] = (1-timeShare)*axis[i] + timeShare*t[i]
	}
	return axis
}

// workIsLoad reports whether the process works faster because the series allocates faster, as a
// program of batches that grow does. What lives for a short time then rises with the work as a leak
// does: over such a clock the load does not change, and what it holds seems to stay. A process that
// gets more processor time than before works faster, too, but there a leak is a line over the work,
// which the rate of allocation does not explain.
func (s *series) workIsLoad(l line) bool {
	if s.work == nil || s.Alloc == nil || !s.loadDriven(l) || s.all.turnover() < shortLived {
		return false
	}
	if early, late := s.ratesOf(s.work); late <= faster*early {
		return false
	}
	y, one := s.Live[1:], s.one[1:] // the first value is 0 in a recording that begins with its process
	byRate, ok := stats.LeastSquares(y, one, s.smoothRate()[1:])
	if !ok || byRate.C[1] <= 0 {
		return false
	}
	byWork, ok := stats.LeastSquares(y, one, s.work[1:])
	return ok && byRate.RSS < asGood*byWork.RSS
}

// overTime returns the series without the work of the process.
func (s *series) overTime() *series {
	out := *s
	out.work = nil
	return &out
}

// shortLived is the least turnover of a series whose objects are replaced from point to point.
const shortLived = 0.5

// asGood is the ratio of residuals up to which a rate of allocation, which is known with errors,
// explains a series as well as the work does.
const asGood = 2

// smoothRate is the rate of allocation around each point, over a quarter of the points. Over a
// single interval it varies by the number of batches that end in it.
func (s *series) smoothRate() []float64 {
	n := len(s.t)
	half := max(1, n/8)
	rate := make([]float64, n)
	for i := range rate {
		from, to := max(0, i-half), min(n-1, i+half)
		rate[i] = (s.Alloc[to] - s.Alloc[from]) / (s.t[to] - s.t[from])
	}
	return rate
}

// clockFeatures describe what depends on the clock.
func (s *series) clockFeatures(f *Features, tail stats.Line, c curves, growth float64) {
	s.tailFeatures(f, tail, growth)
	s.stepFeatures(f, growth)
	s.endFeatures(f, growth)
	s.curveFeatures(f, c, growth)
	s.kneeFeatures(f, growth)
	s.lifetimeFeatures(f, c, growth)
	s.residenceFeatures(f)
	s.besideLoadFeatures(f, growth)
}

// workFeatures describe the series over the work of the process, and how work and time differ. If
// the work is not known, the features have the values over time.
func (s *series) workFeatures(f *Features, c curves, growth float64) {
	over := *f
	if s.work != nil {
		over = Features{}
		w := *s
		w.t = s.work
		curves := w.curves()
		w.clockFeatures(&over, w.tail(), curves, growth)
		f[FeatureWorkKnown] = 1
		floor := c.line.RSS*1e-4 + curves.line.RSS*1e-4 + 1
		f.set(FeatureStraighter, math.Log((curves.line.RSS+floor)/(c.line.RSS+floor)), -6, 6)
		third := len(s.t) / 3
		early, late := s.work[third]-s.work[0], s.work[len(s.t)-1]-s.work[len(s.t)-1-third]
		f.set(FeaturePace, math.Log(late/(s.t[len(s.t)-1]-s.t[len(s.t)-1-third])/(early/(s.t[third]-s.t[0]))), -4, 4)
		for i := range s.t {
			f[FeatureUnevenPace] = max(f[FeatureUnevenPace], math.Abs(s.work[i]-s.t[i]))
		}
	}
	for i := range table {
		if r := &table[i]; r.isOverWork() {
			f[i] = over[r.of]
		}
	}
}
