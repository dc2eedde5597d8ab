package gate

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// deviation is the sample standard deviation, 0 for fewer than two values.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return math.Sqrt(stats.SumSquares(values) / float64(len(values)-1))
}

// robustDeviation is the median absolute deviation, scaled to estimate the standard deviation of
// normal values.
func robustDeviation(values []float64) float64 {
	return stats.MedianDeviation(values, stats.Median(values))
}

// deviationFromLine is the standard deviation from the least-squares line through values at equal
// distances, 0 for fewer than three values.
func deviationFromLine(values []float64) float64 {
	if len(values) < 3 {
		return 0
	}
	at := make([]float64, len(values))
	for i := range at {
		at[i] = float64(i)
	}
	fit, _ := stats.LeastSquares(values, stats.Ones(len(values)), at)
	return math.Sqrt(fit.RSS / float64(len(values)-2))
}

// upperTail is the probability that a standard normal value exceeds z.
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// zOf is the value that a standard normal one exceeds with probability p.
func zOf(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// studentTail is the probability that Student's t with n degrees of freedom exceeds t ≥ 0
// (Abramowitz and Stegun 26.7.3 and 26.7.4).
func studentTail(t float64, n int) float64 {
	theta := math.Atan2(t, math.Sqrt(float64(n)))
	sin, cos := math.Sincos(theta)
	term := 1.0
	if n%2 == 1 {
		term = cos
	}
	sum := 0.0
	for k := n % 2; k <= n-2; k += 2 { // the terms with cos^k; odd n has none for k < 2
		if k >= 2 {
			term *= float64(k-1) / float64(k) * cos * cos
		}
		sum += term
	}
	if n%2 == 1 {
		return (1 - 2/math.Pi*(theta+sin*sum)) / 2
	}
	return (1 - sin*sum) / 2
}

// studentQuantile is the t that Student's t with n degrees of freedom exceeds with probability p <
// 1/2.
func studentQuantile(p float64, n int) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, n) > p && high < 1e9 {
		low, high = high, 2*high
	}
	for range 80 {
		if middle := (low + high) / 2; studentTail(middle, n) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
