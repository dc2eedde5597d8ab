package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// stepFeatures describe the steps from point to point: how many rises make up the growth, how old
// the last one is, and how much was freed in between.
func (s *series) stepFeatures(f *Features, growth float64) {
	y := s.Live
	evenness, directness := movement(y)
	f.set(FeatureEvenness, evenness, 0, 1)
	f.set(FeatureDirectness, directness, -1, 1)
	last, k := s.lastRise(growth)
	f.set(FeatureGap, -float64(k)*math.Log(max(last, 1e-3)), 0, 20)
	drop, low := s.deepestFall()
	f.set(FeatureDrop, drop/growth, 0, 3)
	f.set(FeatureSinceDrop, 1-s.t[low], 0, 1)
	f.set(FeatureSecured, (y[low]-y[0])/growth, -2, 1)
}

// movement returns the effective number of rises over the number of steps, and the net growth over
// the length of the path.
func movement(y []float64) (evenness, directness float64) {
	var up, squares, path float64
	for i := 1; i < len(y); i++ {
		d := y[i] - y[i-1]
		path += math.Abs(d)
		up += max(d, 0)
		squares += max(d, 0) * max(d, 0)
	}
	last := len(y) - 1
	return up * up / max(squares, 1) / float64(last), (y[last] - y[0]) / max(path, 1)
}

// halfFeatures describe the second half by itself: a leak in a function that filled a cache first
// is a line there.
func (s *series) halfFeatures(f *Features, growth float64) {
	y, n := s.Live, len(s.t)
	half, fifth := n/2, max(1, n/5)
	late := y[half:]
	evenness, directness := movement(late)
	f.set(FeatureLateEvenness, evenness, 0, 1)
	f.set(FeatureLateDirectness, directness, -1, 1)
	f.set(FeatureEarlyShare, (y[fifth]-y[0])/growth, -2, 2)
	if fit, ok := stats.LeastSquares(late, s.one[half:], s.t[half:]); ok {
		floor := s.residualFloor(growth) / 2
		f.set(FeatureLateLine, math.Log((fit.RSS+floor)/(stats.SumSquares(late)+floor)), -12, 0)
	}
}

// lastRise returns when the last new maximum was reached, from 0 to 1, and how many there were. A
// maximum counts if it exceeds the one before clearly.
func (s *series) lastRise(growth float64) (last float64, k int) {
	threshold := max(0.03*growth, s.minGrowth/16)
	high := s.Live[0]
	last = s.t[0]
	for i, y := range s.Live {
		if y >= high+threshold {
			high, last, k = y, s.t[i], k+1
		}
	}
	return last, k
}

// deepestFall returns the largest fall from a value to a later one, and the index of the latter; 0
// and 0 for a series that never falls. In samples, one object that is freed is no fall: a small one
// counts as much as many.
func (s *series) deepestFall() (drop float64, low int) {
	high := s.Live[0]
	for i, v := range s.Live {
		high = math.Max(high, v)
		if fall := high - v - s.sample; fall > drop {
			drop, low = fall, i
		}
	}
	return drop, low
}

// endFeatures describe the last two steps: a cache that fills may be full only since then.
func (s *series) endFeatures(f *Features, growth float64) {
	y, t, n := s.Live, s.t, len(s.t)
	steps := make([]float64, 0, n-1)
	for i := 1; i < n; i++ {
		steps = append(steps, (y[i]-y[i-1])/(t[i]-t[i-1]))
	}
	last := (y[n-1] - y[n-3]) / (t[n-1] - t[n-3])
	f.set(FeatureLastStep, steps[n-2]/growth, -3, 5)
	f.set(FeatureLastSteps, last/growth, -3, 5)
	before := steps[:n-3]
	usual := stats.Median(before)
	spread := stats.MedianDeviation(before, usual)
	f.set(FeatureStop, (usual-last)/max(spread, 0.02*growth), -20, 50)
	if alloc := s.Alloc; alloc != nil {
		late, all := alloc[n-1]-alloc[n-3], alloc[n-1]-alloc[0]
		f.set(FeatureLastKept, (y[n-1]-y[n-3])/max(late, 1)/(growth/max(all, 1)), -3, 5)
	}
}
