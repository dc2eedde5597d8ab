package trend

// slopeWindows bounds the points of a slope: thousands of sites have one.
const slopeWindows = 32

// Slope is the robust slope of a series (Theil-Sen: the median of the slopes between all pairs of points) in units of y per unit
// of t, with its standard error, a quarter of the width of Sen's 95 % interval. Both are 0 for fewer than three
// moments. t rises; a long series is taken by windows, so that the cost is bounded.
func Slope(t, y []float64) (slope, standardError float64) {
	p := Points{T: t, Live: y}.distinct().windowed(slopeWindows)
	if len(p.T) < 3 {
		return 0, 0
	}
	all := slopes(p.T, p.Live)
	slope, intercept := medianLine(p.T, p.Live, all)
	low, high := senInterval(all, kendallVarianceAround(p.T, p.Live, slope, intercept))
	return slope, (high - low) / (2 * 1.96)
}

// Median of values, 0 for none; of an even number the mean of the middle two. values stay as they are.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return median(append([]float64(nil), values...))
}
