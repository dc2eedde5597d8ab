package trend

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// line is the robust trend of a series. Slopes are over the span.
type line struct {
	stats.Interval
	over      float64    // the growth along the line from its first point to the end
	sigma     float64    // standard deviation around the line
	z         float64    // Mann-Kendall's statistic
	tail      stats.Line // through the last two fifths
	sampling  float64    // standard error of the slope by sampling; 0 for exact counts
	retention float64    // share of the bytes allocated in the last two fifths that stay in use; NaN if unknown
}

func (s *series) line() line {
	y := s.Live
	l := line{Interval: stats.TheilSenInterval(s.t, y)}
	l.over = l.Slope * (1 - s.t[0])
	l.sigma = max(l.Spread(s.t, y), s.noise)
	if k := stats.Kendall(y); k != 0 && l.Variance > 0 {
		l.z = (k - math.Copysign(1, k)) / math.Sqrt(l.Variance)
	}
	from := tailFrom(len(s.t))
	l.sampling = s.slopeError()
	l.tail = s.tail()
	l.retention = math.NaN()
	if s.Alloc != nil {
		if alloc := slopeOf(s.t[from:], s.Alloc[from:]); alloc > 0 {
			l.retention = l.tail.Slope / alloc
		}
	}
	return l
}

// tail is the line through the last two fifths.
func (s *series) tail() stats.Line {
	from := tailFrom(len(s.t))
	return stats.TheilSen(s.t[from:], s.Live[from:])
}

// growth is the growth that shares are of: by the trend or, if it is larger because the growth
// began late, by the ends.
func (s *series) growth(l line) float64 {
	y, n := s.Live, len(s.t)
	k := max(2, n/8)
	ends := stats.Median(y[n-k:]) - stats.Median(y[:k])
	return math.Max(math.Max(math.Abs(l.Slope), math.Abs(ends)), 1)
}

// Rise returns ln of the mean of a series' last third over [Early], 0 where either is not positive.
func Rise(live []float64) float64 {
	third := len(live) / 3
	if third == 0 {
		return 0
	}
	early, late := Early(live), stats.Mean(live[len(live)-third:])
	if early <= 0 || late <= 0 {
		return 0
	}
	return math.Log(late / early)
}

// Early returns the mean of a third of a series, from its second value on: the first one is 0 in a
// recording that begins with its process. It is 0 for fewer than three values.
func Early(live []float64) float64 {
	third := len(live) / 3
	if third == 0 {
		return 0
	}
	return stats.Mean(live[1 : third+1])
}

// lineFeatures describe the trend.
func (s *series) lineFeatures(f *Features, l line, growth float64) {
	y, n := s.Live, len(s.t)
	f.set(FeatureSignificance, l.z, -8, 8)
	f.set(FeatureClarity, growth/math.Max(l.sigma, 1), 0, 1000)
	f.set(FeatureLateSignificance, stats.Significance(s.t[n/2:], y[n/2:]), -8, 8)
	third := n / 3
	f.set(FeatureSeparation, (slices.Min(y[n-third:])-slices.Max(y[:third]))/growth, -1, 1)
	f.set(FeatureRise, Rise(y), -3, 3)
}

// tailFeatures describe how the last part differs from the trend.
func (s *series) tailFeatures(f *Features, tail stats.Line, growth float64) {
	y, n := s.Live, len(s.t)
	f.set(FeatureTail, tail.Slope/growth, -2, 4)
	quarter := n - max(3, (n+3)/4)
	f.set(FeatureEnd, slopeOf(s.t[quarter:], y[quarter:])/growth, -2, 5)
	from := tailFrom(n)
	noise := max(tail.Spread(s.t[from:], y[from:]), s.noise, 1)
	f.set(FeatureTailClarity, tail.Slope*math.Sqrt(stats.SumSquares(s.t[from:]))/noise, -100, 100)
}

// otherImageFeatures describe the same site in another process image: what leaks leaks again after
// a restart.
func (s *series) otherImageFeatures(f *Features, growth float64) {
	if s.OtherImage == nil {
		return
	}
	o := s.OtherImage.distinct().windowed(maxWindows)
	f.set(FeatureOtherImage, slopeOf(o.T, o.Live)*s.span/growth, -2, 3)
	f.set(FeatureOtherImageZ, stats.Significance(o.T, o.Live), -8, 8)
}

// Slope returns the robust slope of a series (the median of the slopes between all pairs of points)
// in units of y per unit of t, and its standard error, a quarter of the width of its 95 % interval.
// Both are 0 for fewer than three times. t rises. A long series is taken by windows, so that the
// cost is bounded.
func Slope(t, y []float64) (slope, standardError float64) {
	p := Points{T: t, Live: y}.distinct().windowed(slopeWindows)
	if len(p.T) < 3 {
		return 0, 0
	}
	l := stats.TheilSenInterval(p.T, p.Live)
	return l.Slope, (l.High - l.Low) / (2 * 1.96)
}

// slopeWindows bounds the points of Slope, which is called for thousands of sites.
const slopeWindows = 32
