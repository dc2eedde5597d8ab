package trend

import (
	"math"
	"slices"
)

// What chance does to the points. A sampled object of size s stands for s/p bytes, where p = 1 − e^(−s/R) is the chance that it is sampled
// and R the mean number of bytes between samples; without sampling p is 1.

// objectSize is the mean size of the series' objects, in bytes; 0 where objects are not known.
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

// noise is the standard deviation that sampling gives the median of Live, in bytes, doubled in variance: each of L/s objects
// contributes s²(1−p)/p. 0 for exact input.
func (p Points) noise() float64 {
	if p.Period <= 0 {
		return 0
	}
	each := p.Period // of many small objects
	if size := p.objectSize(); size > 0 {
		chance := p.chance(size)
		each = size * (1 - chance) / chance
	}
	return math.Sqrt(2 * each * math.Max(0, median(slices.Clone(p.Live))))
}

// turnover compares the scatter of the steps with what it would be if all objects were replaced between two points. Each
// point were then drawn anew (Poisson), and a step from a to b had the variance (a+b)·s/p. What is kept scatters far less: only
// what came can differ. So 1 or more is short-lived objects, and about 1 over the number of points a leak under an even load. 1 where
// objects are not known.
func (p Points) turnover() float64 {
	size := p.objectSize()
	if size <= 0 {
		return 1
	}
	weight := size / p.chance(size)
	steps := make([]float64, len(p.Live)-1)
	var expected, squares float64
	for i := range steps {
		steps[i] = p.Live[i+1] - p.Live[i]
		expected += weight * (p.Live[i] + p.Live[i+1])
	}
	usual := median(slices.Clone(steps))
	for _, d := range steps {
		squares += (d - usual) * (d - usual)
	}
	if expected <= 0 {
		return 1
	}
	return squares / expected
}
