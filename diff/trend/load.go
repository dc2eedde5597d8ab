package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// rates are the rates of allocation in the first and in the last third, over the span.
func (s *series) rates() (early, late float64) { return s.ratesOf(s.Alloc) }

// ratesOf are the slopes of a curve in the first and in the last third.
func (s *series) ratesOf(y []float64) (early, late float64) {
	third := len(s.t) / 3
	n := len(s.t) - third - 1
	return slopeOf(s.t[:third+1], y[:third+1]), slopeOf(s.t[n:], y[n:])
}

// leastRise is the least FeatureRise of which a share is taken.
const leastRise = 0.1

// loadFeatures describe how the bytes in use follow from the bytes allocated.
func (s *series) loadFeatures(f *Features, l line) {
	if s.Alloc == nil {
		return
	}
	n := len(s.t)
	f[FeatureAllocKnown] = 1
	early, late := s.rates()
	f.set(FeatureLoad, math.Log(max(late, 1)/max(early, 1)), -4, 4)
	if f[FeatureRise] >= leastRise {
		f.set(FeatureExplained, f[FeatureLoad]/f[FeatureRise], -2, 2)
	}
	f.set(FeatureTailRetention, l.retention, -1, 1.5)
	f.set(FeatureRetention, (s.Live[n-1]-s.Live[0])/max(s.Alloc[n-1]-s.Alloc[0], 1), -1, 1.5)
}

// besideLoadFeatures describe the line beside the rate of allocation. What lives for a short time
// follows that rate, so that a line beside it is what stays.
func (s *series) besideLoadFeatures(f *Features, growth float64) {
	if s.Alloc == nil {
		return
	}
	n := len(s.t)
	rate := make([]float64, n-1) // over the interval before each point
	for i := range rate {
		rate[i] = (s.Alloc[i+1] - s.Alloc[i]) / (s.t[i+1] - s.t[i])
	}
	y, one, t := s.Live[1:], s.one[1:], s.t[1:]
	line, ok := stats.LeastSquares(y, one, t)
	if !ok {
		return
	}
	slope, se := line.C[1], line.LastError(n-3)
	if both, ok := stats.LeastSquares(y, one, rate, t); ok && both.C[1] >= 0 {
		slope, se = both.C[2], both.LastError(n-4)
		floor := s.residualFloor(growth)
		f.set(FeatureLoadFit, math.Log((both.RSS+floor)/(line.RSS+floor)), -10, 0)
	}
	f.set(FeatureBesideLoad, slope/growth, -2, 3)
	f.set(FeatureBesideLoadT, slope/math.Max(se, 1e-3*growth), -100, 1000)
}

// residenceFeatures describe the mean time that bytes stay in use. By Little's law it is the bytes
// in use over the rate of allocation. Load changes both; a leak changes the time.
func (s *series) residenceFeatures(f *Features) {
	if s.Alloc == nil {
		return
	}
	var t, stay []float64
	for i := 1; i < len(s.t); i++ {
		if came := s.Alloc[i] - s.Alloc[i-1]; came > 0 {
			t = append(t, s.t[i])
			stay = append(stay, (s.Live[i-1]+s.Live[i])/2*(s.t[i]-s.t[i-1])/came)
		}
	}
	if len(stay) < 4 {
		return
	}
	if early, late := thirds(stay); early > 0 && late > 0 {
		f.set(FeatureResidence, math.Log(late/early), -4, 4)
	}
	f.set(FeatureResidenceZ, stats.Significance(t, stay), -8, 8)
}

// objectFeatures describe whether there are more objects, or larger ones.
func (s *series) objectFeatures(f *Features) {
	if s.Objects == nil {
		return
	}
	o1, o2 := thirds(s.Objects)
	y1, y2 := thirds(s.Live)
	if o1 <= 0 || o2 <= 0 || y1 <= 0 || y2 <= 0 {
		return
	}
	f.set(FeatureObjectSize, math.Log((y2/o2)/(y1/o1)), -2, 2)
	if y2 > y1 {
		f.set(FeatureObjects, math.Log(o2/o1)/math.Log(y2/y1), -2, 3)
	}
}
