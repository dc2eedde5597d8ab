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

// slopeError returns the standard error of the slope that sampling causes; 0 for exact counts.
//
// A sampled object is part of every point at which it is in use, so that the errors of points are not independent:
// with e the variance of each byte (sampleError), and B(i,j) the bytes that are in use at both i and j,
//
//	Cov(L[i], L[j]) = e·B(i,j)
//
// The slope by least squares is Σ c[i]·L[i] with c[i] = (t[i] − mean t)/Σ(t − mean t)². That of Theil and Sen varies
// nearly as much. So
//
//	Var slope = e·Σ Σ c[i]·c[j]·B(i,j)
//
// B(i,j) is taken to be the least number of bytes in use from i to j, which is the most that it can be. In a leak it
// is L[min(i,j)]: a gain of G bytes has the variance e·G, the sum of the squared weights of its samples, and the slope
// of a long series that gains evenly has 6/5 of that over the square of its span. Such an error is a random walk: most
// of it looks like a trend, and little is seen as scatter around the line. Where objects are replaced between i and j,
// B(i,j) is less: points have errors of their own then, which the scatter shows.
//
// e·G is itself estimated, from the samples that were drawn. That of one sample is added, because with few of them
// it is often too low.
func (s *series) slopeError() float64 {
	if s.sampleError == 0 {
		return 0
	}
	mean, squares := stats.Mean(s.t), stats.SumSquares(s.t)
	sum := 0.
	for i, t := range s.t {
		both := math.Max(0, s.Live[i])
		sum += (t - mean) * (t - mean) * both
		for j := i + 1; j < len(s.t); j++ {
			both = math.Max(0, math.Min(both, s.Live[j]))
			sum += 2 * (t - mean) * (s.t[j] - mean) * both
		}
	}
	return math.Sqrt(s.sampleError * (math.Max(0, sum)/(squares*squares) + walk*s.sample))
}

// walk is the variance of the slope of a random walk over the unit of time, over that of its end.
const walk = 6. / 5

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
	f.set(FeatureTurnover, math.Log(s.all.turnover()+1e-3), -7, 3)
}
