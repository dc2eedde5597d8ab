package stats

import (
	"math"
	"slices"
)

// Mean returns the arithmetic mean, NaN of no values.
func Mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// SumSquares returns the sum of the squared distances from the mean.
func SumSquares(v []float64) float64 {
	m := Mean(v)
	s := 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return s
}

// Median returns the median, 0 of no values. Of an even number it is the mean of the middle two.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return medianInPlace(slices.Clone(v))
}

// medianInPlace is like Median, but sorts the values, of which there must be at least one.
func medianInPlace(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// madScale turns the median absolute deviation of normal values into their standard deviation.
const madScale = 1.4826

// MedianDeviation returns a robust standard deviation around a center: 1.4826 times the median
// distance from it.
func MedianDeviation(v []float64, center float64) float64 {
	rest := make([]float64, len(v))
	for i, x := range v {
		rest[i] = math.Abs(x - center)
	}
	return madScale * Median(rest)
}
