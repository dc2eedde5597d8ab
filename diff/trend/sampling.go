package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// An allocator that samples keeps an object of size s with probability p = 1 − e^(−s/R), where R is
// the mean number of bytes between samples. A sampled object represents s/p bytes. Without sampling
// p is 1.

// objectSize is the mean size of the series' objects, in bytes; 0 if objects are not known.
func (p Points) objectSize() float64 {
	var bytes, objects float64
	for i := range p.Objects {
		bytes += p.Live[i]
		objects += p.Objects[i]
	}
	if objects <= 0 {
		return 0
	}
	return math.Max(0, bytes/objects)
}

// chance is the probability that an object of a size is sampled.
func (p Points) chance(size float64) float64 {
	if p.Period <= 0 {
		return 1
	}
	return -math.Expm1(-size / p.Period)
}

// weight is the number of bytes that an object of a size stands for in the counts.
func (p Points) weight(size float64) float64 { return size / p.chance(size) }

// sample is the number of bytes that one sampled object of the series stands for; 0 for exact
// counts.
func (p Points) sample() float64 {
	if p.Period <= 0 {
		return 0
	}
	if size := p.objectSize(); size > 0 {
		return p.weight(size)
	}
	return p.Period
}

// sampleError is the variance by sampling of each byte that objects of the series stand for, in bytes: next to nothing
// for large objects, which are always sampled, and up to the period for small ones. It is 0 for exact counts.
func (p Points) sampleError() float64 {
	if p.Period <= 0 {
		return 0
	}
	size := p.objectSize()
	if size <= 0 {
		return p.Period
	}
	chance := p.chance(size)
	return size * (1 - chance) / chance
}

// noise is the standard deviation of the mean level of Live due to sampling, in bytes; 0 for exact
// counts. Each of the L/s objects in use contributes s²(1−p)/p to the variance, which is doubled:
// bytes that are freed and allocated again are sampled anew.
func (p Points) noise() float64 {
	return math.Sqrt(2 * p.sampleError() * math.Max(0, stats.Mean(p.Live)))
}

// turnover compares the scatter of the steps with what it would be if all objects were replaced
// between two points: then each point would be drawn anew (Poisson), and a step from a to b would
// have the variance (a+b)·s/p. Objects that stay add no noise. So the value is 1 or more for
// short-lived objects, and about 1 over the number of points for a leak under an even load. It is 1
// if objects are not known.
func (p Points) turnover() float64 {
	size := p.objectSize()
	if size <= 0 {
		return 1
	}
	weight := p.weight(size)
	steps := make([]float64, len(p.Live)-1)
	var expected, squares float64
	for i := range steps {
		steps[i] = p.Live[i+1] - p.Live[i]
		expected += weight * (p.Live[i] + p.Live[i+1])
	}
	usual := stats.Median(steps)
	for _, d := range steps {
		squares += (d - usual) * (d - usual)
	}
	if expected <= 0 {
		return 1
	}
	return squares / expected
}

// samplingFeatures describe how much of the series is chance.
func (s *series) samplingFeatures(f *Features, growth float64) {
	f.set(FeatureSampling, s.noise/growth, 0, 2)
	f.set(FeatureTurnover, math.Log(s.turnover+1e-3), -7, 3)
}
