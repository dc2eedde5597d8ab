package stats

import "math"

// Line is y = Intercept + Slope·t.
type Line struct{ Slope, Intercept float64 }

// TheilSen returns the line with the median of the slopes between all pairs of points. Outliers
// hardly move it.
func TheilSen(t, y []float64) Line { return medianLine(t, y, slopes(t, y)) }

// Interval is a line with what is known of its slope.
type Interval struct {
	Line
	// Low and High are the 95 % interval of the slope.
	Low, High float64
	// Variance is that of Kendall's S around the line: see [KendallVariance].
	Variance float64
}

// TheilSenInterval returns the line of [TheilSen] and the interval of its slope.
func TheilSenInterval(t, y []float64) Interval {
	all := slopes(t, y)
	i := Interval{Line: medianLine(t, y, all)}
	i.Variance = KendallVariance(t, y, i.Line)
	i.Low, i.High = senInterval(all, i.Variance)
	return i
}

// Spread returns the robust standard deviation of the residuals of a line: 1.4826 times their
// median absolute value.
func (l Line) Spread(t, y []float64) float64 { return MedianDeviation(l.residuals(t, y), 0) }

// residuals are the distances of the points from the line.
func (l Line) residuals(t, y []float64) []float64 {
	rest := make([]float64, len(t))
	for i := range t {
		rest[i] = y[i] - l.Slope*t[i] - l.Intercept
	}
	return rest
}

// slopes are the slopes between all pairs of points at different times.
func slopes(t, y []float64) []float64 {
	out := make([]float64, 0, len(t)*(len(t)-1)/2)
	for i := range t {
		for j := i + 1; j < len(t); j++ {
			if dt := t[j] - t[i]; dt > 0 {
				out = append(out, (y[j]-y[i])/dt)
			}
		}
	}
	return out
}

// medianLine is the line with the median of slopes, which it reorders.
func medianLine(t, y, s []float64) Line {
	if len(s) == 0 {
		return Line{0, Median(y)}
	}
	slope := medianInPlace(s)
	return Line{slope, medianInPlace(Line{Slope: slope}.residuals(t, y))}
}

// senInterval is the 95 % interval of the median of slopes, which it reorders: from the slope 0.98
// standard deviations of Kendall's S below the middle rank to the slope as far above it (Sen 1968).
func senInterval(s []float64, variance float64) (low, high float64) {
	n := len(s)
	if n == 0 {
		return 0, 0
	}
	c := 1.96 * math.Sqrt(variance)
	lo := int(math.Floor((float64(n) - c) / 2))
	hi := int(math.Ceil((float64(n)+c)/2)) - 1
	return ranked(s, min(max(lo, 0), n-1)), ranked(s, min(max(hi, 0), n-1))
}
