package trend

import (
	"math"
	"slices"
)

// median of values; NaN for none. values is reordered.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// slopes are the sorted slopes between all pairs of points.
func slopes(t, y []float64) []float64 {
	out := make([]float64, 0, len(t)*(len(t)-1)/2)
	for i := range t {
		for j := i + 1; j < len(t); j++ {
			if dt := t[j] - t[i]; dt > 0 {
				out = append(out, (y[j]-y[i])/dt)
			}
		}
	}
	slices.Sort(out)
	return out
}

// theilSen is the median slope, and the line's value at t = 0.
func theilSen(t, y []float64) (slope, intercept float64) {
	return medianLine(t, y, slopes(t, y))
}

// medianLine is theilSen for slopes that are known, and sorted.
func medianLine(t, y, s []float64) (slope, intercept float64) {
	n := len(s)
	if n == 0 {
		return 0, median(slices.Clone(y))
	}
	slope = (s[(n-1)/2] + s[n/2]) / 2
	rest := make([]float64, len(t))
	for i := range t {
		rest[i] = y[i] - slope*t[i]
	}
	return slope, median(rest)
}

// senInterval is the 95 % interval of the median of sorted slopes: those whose ranks
// lie 1.96 standard deviations of Kendall's S around the middle (Sen 1968).
func senInterval(s []float64, variance float64) (low, high float64) {
	n := len(s)
	if n == 0 {
		return 0, 0
	}
	c := 1.96 * math.Sqrt(variance)
	lo := int(math.Floor((float64(n) - c) / 2))
	hi := int(math.Ceil((float64(n)+c)/2)) - 1
	return s[min(max(lo, 0), n-1)], s[min(max(hi, 0), n-1)]
}

// kendall is Mann and Kendall's S: rising pairs minus falling ones.
func kendall(y []float64) float64 {
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

// kendallVariance is the variance of S under no trend, less what ties take, times
// Hamed and Rao's correction for autocorrelation of the detrended ranks.
func kendallVariance(t, y []float64) float64 {
	slope, intercept := theilSen(t, y)
	return kendallVarianceAround(t, y, slope, intercept)
}

// significance is kendall over its standard deviation under no trend; 0 where that is 0.
func significance(t, y []float64) float64 {
	if variance := kendallVariance(t, y); variance > 0 {
		return kendall(y) / math.Sqrt(variance)
	}
	return 0
}

// likelihoodRoot is the root of the likelihood ratio of n points under a model to that under another, by their residual sums of squares; negative
// where the other is likelier.
func likelihoodRoot(n int, model, other float64) float64 {
	ratio := float64(n) * math.Log(other/model)
	return math.Copysign(math.Sqrt(math.Abs(ratio)), ratio)
}

// kendallVarianceAround is kendallVariance for a trend that is known.
func kendallVarianceAround(t, y []float64, slope, intercept float64) float64 {
	n := float64(len(y))
	v := n * (n - 1) * (2*n + 5)
	for _, g := range ties(y) {
		v -= g * (g - 1) * (2*g + 5)
	}
	v /= 18
	return v * hamedRao(t, y, slope, intercept)
}

// ties are the sizes of groups of equal values.
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

// hamedRao is the factor by which autocorrelation inflates the variance of S. Only
// correlations that are significant at 95 % count; the factor is never below 1, because a test
// that becomes more certain by negative correlation would take zigzags for trends.
func hamedRao(t, y []float64, slope, intercept float64) float64 {
	n := len(y)
	if n < 10 {
		return 1
	}
	rest := make([]float64, n)
	for i := range y {
		rest[i] = y[i] - slope*t[i] - intercept
	}
	r := ranks(rest)
	nf := float64(n)
	sum := 0.0
	for lag := 1; lag < n/2; lag++ {
		rho := autocorrelation(r, lag)
		if math.Abs(rho) < 1.96/math.Sqrt(nf) {
			continue
		}
		k := float64(lag)
		sum += (nf - k) * (nf - k - 1) * (nf - k - 2) * rho
	}
	return max(1, 1+2/(nf*(nf-1)*(nf-2))*sum)
}

// ranks gives each value its place in the order; ties share their mean place.
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

func autocorrelation(v []float64, lag int) float64 {
	mean := 0.0
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	var num, den float64
	for i, x := range v {
		den += (x - mean) * (x - mean)
		if i >= lag {
			num += (x - mean) * (v[i-lag] - mean)
		}
	}
	if den == 0 {
		return 0
	}
	return num / den
}

// spread is the robust standard deviation of the residuals of a line: 1.4826 times
// their median absolute value.
func spread(t, y []float64, slope, intercept float64) float64 {
	rest := make([]float64, len(t))
	for i := range t {
		rest[i] = math.Abs(y[i] - slope*t[i] - intercept)
	}
	return 1.4826 * median(rest)
}

// leastSquares fits y ≈ Σ c[k]·basis[k] and returns the coefficients and the
// residual sum of squares; ok is false for a singular system. Three or fewer terms.
func leastSquares(y []float64, basis ...[]float64) (c []float64, rss float64, ok bool) {
	k := len(basis)
	m := make([][]float64, k) // normal equations, with the right side as last column
	for i := range m {
		m[i] = make([]float64, k+1)
		for j := range k {
			m[i][j] = dot(basis[i], basis[j])
		}
		m[i][k] = dot(basis[i], y)
	}
	c, ok = solve(m)
	if !ok {
		return nil, 0, false
	}
	for i := range y {
		r := y[i]
		for j := range k {
			r -= c[j] * basis[j][i]
		}
		rss += r * r
	}
	return c, rss, true
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// solve is Gaussian elimination with pivoting on an augmented matrix.
func solve(m [][]float64) ([]float64, bool) {
	n := len(m)
	for col := range n {
		pivot := col
		for r := col + 1; r < n; r++ {
			if math.Abs(m[r][col]) > math.Abs(m[pivot][col]) {
				pivot = r
			}
		}
		m[col], m[pivot] = m[pivot], m[col]
		if math.Abs(m[col][col]) < 1e-12 {
			return nil, false
		}
		for r := range n {
			if r == col {
				continue
			}
			f := m[r][col] / m[col][col]
			for k := col; k <= n; k++ {
				m[r][k] -= f * m[col][k]
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = m[i][n] / m[i][i]
	}
	return out, true
}

// Explained is the share of the variation of y that a multiple of x explains, beside a constant (R²); 0 where x falls as y rises,
// and where either is constant.
func Explained(y, x []float64) float64 {
	total := sumSquares(y)
	c, rss, ok := leastSquares(y, ones(len(y)), x)
	if !ok || c[1] <= 0 || total == 0 {
		return 0
	}
	return 1 - rss/total
}
