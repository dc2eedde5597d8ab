package stats

import (
	"math"
	"slices"
)

// Kendall returns Mann and Kendall's S: the number of rising pairs minus that of falling ones.
func Kendall(y []float64) float64 {
	var s float64
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			switch {
			case y[j] > y[i]:
				s++
			case y[j] < y[i]:
				s--
			}
		}
	}
	return s
}

// KendallVariance returns the variance of S if there is no trend but the line: that of independent
// values without ties, less what ties take, times the correction of Hamed and Rao for
// autocorrelation of the ranks of the residuals.
func KendallVariance(t, y []float64, l Line) float64 {
	n := float64(len(y))
	v := n * (n - 1) * (2*n + 5)
	for _, g := range ties(y) {
		v -= g * (g - 1) * (2*g + 5)
	}
	return v / 18 * hamedRao(l.residuals(t, y))
}

// Significance returns S over its standard deviation, 0 where that is 0.
func Significance(t, y []float64) float64 {
	if variance := KendallVariance(t, y, TheilSen(t, y)); variance > 0 {
		return Kendall(y) / math.Sqrt(variance)
	}
	return 0
}

// ties are the sizes of the groups of equal values.
func ties(y []float64) []float64 {
	sorted := slices.Sorted(slices.Values(y))
	var out []float64
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if j-i > 1 {
			out = append(out, float64(j-i))
		}
		i = j
	}
	return out
}

// hamedRao is the factor by which autocorrelation of the residuals inflates the variance of S. Only
// correlations that are significant at 95 % count. The factor is never below 1: negative
// correlation would make zigzags significant.
func hamedRao(residuals []float64) float64 {
	n := float64(len(residuals))
	if n < 10 {
		return 1
	}
	r := ranks(residuals)
	mean, squares := Mean(r), SumSquares(r)
	sum := 0.0
	for lag := 1; lag < len(r)/2; lag++ {
		rho := autocorrelation(r, lag, mean, squares)
		if math.Abs(rho) < 1.96/math.Sqrt(n) {
			continue
		}
		k := float64(lag)
		sum += (n - k) * (n - k - 1) * (n - k - 2) * rho
	}
	return max(1, 1+2/(n*(n-1)*(n-2))*sum)
}

// ranks returns the rank of each value, from 0. Equal values share their mean rank.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case v[a] < v[b]:
			return -1
		case v[a] > v[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}

// autocorrelation is the correlation of a series with itself a number of steps later, 0 for a
// constant one. squares is the sum of the squared distances from the mean.
func autocorrelation(v []float64, lag int, mean, squares float64) float64 {
	if squares == 0 {
		return 0
	}
	var product float64
	for i := lag; i < len(v); i++ {
		product += (v[i] - mean) * (v[i-lag] - mean)
	}
	return product / squares
}
