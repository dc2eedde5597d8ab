package stats

import "math"

// MaxTerms is the largest number of terms that [LeastSquares] fits.
const MaxTerms = 4

// Fit is a least-squares fit y ≈ Σ C[k]·basis[k].
type Fit struct {
	// C has the coefficients, and 0 after the last term.
	C [MaxTerms]float64
	// RSS is the residual sum of squares.
	RSS float64
	// left is the norm of the last column's component that is orthogonal to the other columns.
	left float64
}

// LastError returns the standard error of the last coefficient: the root of the residual variance
// over the squared norm of its column's component orthogonal to the others. The residual variance
// is RSS over the degrees of freedom. Without degrees of freedom the error is infinite.
func (f Fit) LastError(freedom int) float64 {
	if freedom <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(f.RSS/float64(freedom)) / f.left
}

const (
	// dependent is the share of its length that a column must keep after the columns before it are
	// taken out. With less it depends on them, as far as rounding lets one see.
	dependent = 1e-7
	// scratch is the number of points for which LeastSquares does not allocate.
	scratch = 64
)

// LeastSquares fits up to MaxTerms columns to y by Householder's QR factorisation; ok is false if
// the columns are linearly dependent, or if there are more columns than points.
//
// The columns may differ in scale by any factor; for a series, they are shares of time, and bytes.
// Normal equations would square the columns and lose half of the digits; QR does not.
func LeastSquares(y []float64, basis ...[]float64) (f Fit, ok bool) {
	n, terms := len(y), len(basis)
	if terms > n {
		return f, false
	}
	var fixed [(MaxTerms + 1) * scratch]float64
	space := fixed[:]
	if n > scratch {
		space = make([]float64, (MaxTerms+1)*n)
	}
	var columns [MaxTerms + 1][]float64 // the basis, then y
	for k := range terms + 1 {
		columns[k] = space[k*n : (k+1)*n : (k+1)*n]
		if k < terms {
			copy(columns[k], basis[k])
		} else {
			copy(columns[k], y)
		}
	}
	var diagonal [MaxTerms]float64
	for k := range terms {
		if diagonal[k], ok = reflect(columns[k:terms+1], k); !ok {
			return Fit{}, false
		}
	}
	rotated := columns[terms]
	for k := terms - 1; k >= 0; k-- {
		x := rotated[k]
		for l := k + 1; l < terms; l++ {
			x -= columns[l][k] * f.C[l]
		}
		f.C[k] = x / diagonal[k]
	}
	for _, x := range rotated[terms:] {
		f.RSS += x * x
	}
	f.left = math.Abs(diagonal[terms-1])
	return f, true
}

// reflect applies to all columns the reflection that makes the first column zero below row k. It
// returns the first column's value in row k, and false if that value is only a rounding error. The
// other columns are overwritten from row k on; the first column holds the reflection.
func reflect(columns [][]float64, k int) (diagonal float64, ok bool) {
	v := columns[0][k:]
	above, below := squares(columns[0][:k]), squares(v)
	if below <= dependent*dependent*(above+below) {
		return 0, false
	}
	diagonal = -math.Copysign(math.Sqrt(below), v[0])
	half := below - diagonal*v[0] // half of the reflection's squared length
	v[0] -= diagonal
	for _, c := range columns[1:] {
		c = c[k:]
		f := dot(v, c) / half
		for i, x := range v {
			c[i] -= f * x
		}
	}
	return diagonal, true
}

func squares(v []float64) float64 { return dot(v, v) }

func dot(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// Explained returns the share of the variation of y that a positive multiple of x explains, beside
// a constant (R²); 0 where x falls as y rises, and where either is constant.
func Explained(y, x []float64) float64 {
	total := SumSquares(y)
	f, ok := LeastSquares(y, Ones(len(y)), x)
	if !ok || f.C[1] <= 0 || total == 0 {
		return 0
	}
	return 1 - f.RSS/total
}

// Ones returns n ones, the column of a fit's constant.
func Ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// LikelihoodRoot returns the root of the ratio of the likelihood of n points under a model to that
// under another, by their residual sums of squares; negative where the other is likelier.
func LikelihoodRoot(n int, model, other float64) float64 {
	ratio := float64(n) * math.Log(other/model)
	return math.Copysign(math.Sqrt(math.Abs(ratio)), ratio)
}
