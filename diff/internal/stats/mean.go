package stats

import (
	"math"
	"math/bits"
	"slices"
)

// Sum returns the sum of some values.
func Sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// Mean returns the arithmetic mean, NaN of no values.
func Mean(v []float64) float64 { return Sum(v) / float64(len(v)) }

// SumSquares returns the sum of the squared distances from the mean.
func SumSquares(v []float64) float64 {
	m := Mean(v)
	s := 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return s
}

// Within returns a number within bounds, 0 if it is undefined.
func Within(v, low, high float64) float64 {
	if math.IsNaN(v) {
		v = 0
	}
	return math.Max(low, math.Min(high, v))
}

// Median returns the median, 0 of no values. Of an even number it is the mean of the middle two.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return medianInPlace(slices.Clone(v))
}

// MedianBy is like Median, of at least one value and at most as many as scratch has, which it
// overwrites. It is fast for values that rise.
func MedianBy(scratch, v []float64) float64 {
	if n := len(v); slices.IsSorted(v) {
		if n%2 == 1 {
			return v[n/2]
		}
		return (v[n/2-1] + v[n/2]) / 2
	}
	return medianInPlace(scratch[:copy(scratch, v)])
}

// medianInPlace is like Median, but reorders the values, of which there must be at least one.
func medianInPlace(v []float64) float64 {
	n := len(v)
	middle := ranked(v, n/2)
	if n%2 == 1 {
		return middle
	}
	return (slices.Max(v[:n/2]) + middle) / 2
}

// fewToRank is the number of values that are sorted rather than divided again.
const fewToRank = 12

// ranked returns what would be v[k] if v were sorted. It reorders v so that nothing before v[k] is
// larger, and nothing after it is smaller. This is Hoare's selection: v is divided at a value again
// and again. After too many divisions, what is left is sorted, so that no input takes quadratic
// time.
func ranked(v []float64, k int) float64 {
	low, high := 0, len(v) // v[low:high] contains it
	for rounds := 2 * bits.Len(uint(len(v))); rounds > 0 && high-low > fewToRank; rounds-- {
		a, b, c := v[low], v[low+(high-low)/2], v[high-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j + 1
		case k >= i:
			low = i
		default:
			return v[k] // it is between the parts, and equal to pivot
		}
	}
	slices.Sort(v[low:high])
	return v[k]
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
