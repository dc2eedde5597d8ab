package trend

import (
	"math"
	"slices"
)

// Label is the verdict on one series.
type Label uint8

// Labels, the most alarming first.
const (
	Leak         Label = iota // grows steadily to the end
	LeakLate                  // grows steadily since some time in the second half
	Suspect                   // grows, but slower toward the end, or too little is known
	Warming                   // follows a saturating curve
	Plateaued                 // grew and has stopped
	LoadDriven                // grows because the process allocates faster
	GrewThenFlat              // one jump, flat since
	Shrinking
	Stable
	Insufficient // too few points to tell
)

var labelNames = [...]string{
	"leak", "leak-late", "suspect", "warming", "plateaued", "load-driven",
	"grew-then-flat", "shrinking", "stable", "insufficient",
}

// String is the stable name used in JSON, e.g. "leak-late".
func (l Label) String() string { return labelNames[l] }

// IsLeak says whether a gate should fail on it.
func (l Label) IsLeak() bool { return l == Leak || l == LeakLate }

// Points is a time series. All slices have one length; T rises.
type Points struct {
	T       []float64 // seconds, or whatever the clock counts
	Live    []float64 // bytes in use
	Objects []float64 // objects in use
	Alloc   []float64 // bytes allocated since the start; nil where it is not known
	// Noise is the standard deviation that sampling gives Live, in bytes; 0 for exact input.
	Noise float64
	// Doubt lowers the confidence of every verdict: 0 for none, up to 1.
	Doubt float64
}

// Options are the thresholds; the zero value takes the defaults.
type Options struct {
	// MinGrowth is the least growth over the series that counts, in bytes; 0 takes 1 MiB.
	MinGrowth float64
}

const defaultMinGrowth = 1 << 20

// Verdict is what Judge found, with the numbers behind it.
type Verdict struct {
	Label Label
	// Confidence that the series leaks, 0 to 1: a score, not yet a calibrated probability.
	Confidence float64
	// Slope in bytes per unit of T, with its 95 % interval.
	Slope, Low, High float64
	// Growth is the slope over the whole span, in bytes.
	Growth float64
	// Sigma is the standard deviation around the trend, in bytes.
	Sigma float64
	// Z is Mann-Kendall's statistic.
	Z float64
	// Tail is the slope of the last part over the whole slope: 1 for a straight line, 0 for a plateau.
	Tail float64
	// Saturation is the residual of the best saturating curve over that of the best line:
	// well below 1 if the growth is ending.
	Saturation float64
	// Retention is the share of newly allocated bytes that the tail keeps; NaN where it is not known.
	Retention float64
	// Resizing: bytes grow and the number of objects does not.
	Resizing bool
	// Points is the number of points that were used.
	Points int
}

// MinPoints is the least number of points for a verdict.
const MinPoints = 6

// Judge labels a series.
func Judge(p Points, o Options) Verdict {
	if o.MinGrowth == 0 {
		o.MinGrowth = defaultMinGrowth
	}
	if len(p.T) < MinPoints || p.T[len(p.T)-1] <= p.T[0] {
		return Verdict{Label: Insufficient, Points: len(p.T), Retention: math.NaN()}
	}
	points := len(p.T)
	p = p.windowed(maxWindows)
	j := judge{p: p, o: o, t: normalised(p.T), span: p.T[len(p.T)-1] - p.T[0]}
	v := j.measure()
	v.Points = points
	v.Label = j.label(&v)
	v.Resizing = j.resizing(&v)
	v.Confidence = j.confidence(&v)
	v.Slope, v.Low, v.High = v.Slope/j.span, v.Low/j.span, v.High/j.span
	return v
}

// maxWindows bounds the points of the statistics, whose cost is quadratic.
const maxWindows = 64

// windowed replaces a long series by the medians of n windows of equal numbers of points.
func (p Points) windowed(n int) Points {
	if len(p.T) <= n {
		return p
	}
	out := Points{Noise: p.Noise, Doubt: p.Doubt}
	for w := range n {
		from, to := w*len(p.T)/n, (w+1)*len(p.T)/n
		out.T = append(out.T, median(slices.Clone(p.T[from:to])))
		out.Live = append(out.Live, median(slices.Clone(p.Live[from:to])))
		if p.Objects != nil {
			out.Objects = append(out.Objects, median(slices.Clone(p.Objects[from:to])))
		}
		if p.Alloc != nil {
			out.Alloc = append(out.Alloc, median(slices.Clone(p.Alloc[from:to])))
		}
	}
	return out
}

// judge works on time from 0 to 1, so that a slope is the growth over the span.
type judge struct {
	p    Points
	o    Options
	t    []float64
	span float64
}

func normalised(t []float64) []float64 {
	out := make([]float64, len(t))
	for i := range t {
		out[i] = (t[i] - t[0]) / (t[len(t)-1] - t[0])
	}
	return out
}

// measure computes the numbers that the labels are decided on.
func (j *judge) measure() Verdict {
	y := j.p.Live
	slope, intercept := theilSen(j.t, y)
	variance := kendallVariance(j.t, y)
	v := Verdict{Points: len(y), Slope: slope, Growth: slope}
	v.Low, v.High = senInterval(j.t, y, variance)
	v.Sigma = max(spread(j.t, y, slope, intercept), j.p.Noise)
	if s := kendall(y); s != 0 && variance > 0 {
		v.Z = (s - math.Copysign(1, s)) / math.Sqrt(variance)
	}
	v.Tail = tailSlope(j.t, y) / slope
	v.Saturation = 1
	v.Retention = j.retention()
	return v
}

// tailSlope is the slope of the last two fifths, of four points at least.
func tailSlope(t, y []float64) float64 {
	from := tailFrom(len(t))
	slope, _ := theilSen(t[from:], y[from:])
	return slope
}

func tailFrom(n int) int { return n - max(4, (2*n+2)/5) }

// label applies the tests in order; the first that holds decides.
func (j *judge) label(v *Verdict) Label {
	if !j.growing(v) {
		return j.notGrowing(v)
	}
	switch {
	case j.jumped():
		return GrewThenFlat
	case j.loadDriven(v):
		return LoadDriven
	case v.Tail < 0.15 && j.gapIsOld(v):
		return Plateaued
	case j.warming(v):
		return Warming
	case v.Tail < 0.4:
		return Suspect
	}
	return Leak
}

// growing says whether there is a trend worth naming: large enough, significant, and
// out of the noise.
func (j *judge) growing(v *Verdict) bool {
	z := 2.326
	if len(j.t) < 8 {
		z = 1.645
	}
	return v.Growth >= j.o.MinGrowth && v.Z >= z && v.Growth >= 2*v.Sigma
}

func (j *judge) notGrowing(v *Verdict) Label {
	switch {
	case -v.Growth >= j.o.MinGrowth && v.Z <= -2.326 && -v.Growth >= 2*v.Sigma:
		return Shrinking
	case j.startedLate(v):
		return LeakLate
	}
	return Stable
}

// startedLate tries the second half alone: it must grow by itself, twice as fast as
// the whole, and end above all of the first half.
func (j *judge) startedLate(v *Verdict) bool {
	n := len(j.t)
	half := n / 2
	if n-half < MinPoints {
		return false
	}
	t, y := j.t[half:], j.p.Live[half:]
	late := judge{p: Points{T: t, Live: y, Noise: j.p.Noise}, o: j.o, t: normalised(t)}
	w := late.measure()
	highest := slices.Max(j.p.Live[:half])
	lowestEnd := slices.Min(j.p.Live[n-n/4:])
	if !late.growing(&w) || w.Growth < v.Growth || lowestEnd <= highest || w.Tail < 0.4 || late.jumped() || late.warming(&w) {
		return false
	}
	v.Growth, v.Slope, v.Low, v.High = w.Growth, 2*w.Growth, 2*w.Low, 2*w.High
	v.Z, v.Sigma, v.Tail = w.Z, w.Sigma, w.Tail
	return true
}

// jumped says whether one step explains the growth: flat before, flat after.
func (j *judge) jumped() bool {
	y := j.p.Live
	n := len(y)
	total := sumSquares(y)
	if total == 0 || n < 8 {
		return false
	}
	best, at := math.Inf(1), 0
	for k := 2; k <= n-3; k++ {
		if r := sumSquares(y[:k]) + sumSquares(y[k:]); r < best {
			best, at = r, k
		}
	}
	if best > 0.1*total {
		return false
	}
	step := mean(y[at:]) - mean(y[:at])
	before, _ := theilSen(j.t[:at], y[:at])
	after, _ := theilSen(j.t[at:], y[at:])
	inside := math.Abs(before*j.t[at-1]) + math.Abs(after*(1-j.t[at]))
	return step > 0 && inside < 0.15*step
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// sumSquares is the sum of squared distances from the mean.
func sumSquares(v []float64) float64 {
	m := mean(v)
	s := 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return s
}

// gapIsOld says whether the last rise lies so far back that chance hardly explains it: with k
// rises spread evenly over the span, none falls into the last part f with probability (1−f)^k.
func (j *judge) gapIsOld(v *Verdict) bool {
	threshold := max(0.03*v.Growth, 64<<10)
	high, last, k := j.p.Live[0], j.t[0], 0
	for i, y := range j.p.Live {
		if y >= high+threshold {
			high, last, k = y, j.t[i], k+1
		}
	}
	return math.Pow(last, float64(k)) < 0.05
}

// warming fits c + a(1 − e^(−t/τ)) and compares it with a line. It also
// fits the sum of both: a leak under a cache that still fills has a slope of its own.
func (j *judge) warming(v *Verdict) bool {
	one := make([]float64, len(j.t))
	for i := range one {
		one[i] = 1
	}
	_, line, ok := leastSquares(j.p.Live, one, j.t)
	if !ok || line == 0 {
		return false
	}
	curve := j.bestCurve(one, line)
	v.Saturation = curve.rss / line
	if v.Saturation >= 0.8 || curve.remaining >= 0.5 {
		return false
	}
	return !j.linePersists(one, curve)
}

// saturating is the best saturating curve.
type saturating struct {
	tau, rss  float64
	remaining float64 // what is still to come, as a share of what came
}

func (j *judge) bestCurve(one []float64, line float64) saturating {
	best := saturating{rss: line, remaining: math.Inf(1)}
	for _, tau := range []float64{0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75} {
		c, rss, ok := leastSquares(j.p.Live, one, rise(j.t, tau))
		if ok && c[1] > 0 && rss < best.rss {
			left := math.Exp(-1 / tau)
			best = saturating{tau, rss, left / (1 - left)}
		}
	}
	return best
}

func rise(t []float64, tau float64) []float64 {
	out := make([]float64, len(t))
	for i := range t {
		out[i] = 1 - math.Exp(-t[i]/tau)
	}
	return out
}

// linePersists says whether, beside some saturating curve, a line is needed that
// grows on its own: it explains much of what the curve leaves, is significant, and
// adds up to a growth that counts.
func (j *judge) linePersists(one []float64, curve saturating) bool {
	best, slope := curve.rss, 0.0
	for _, tau := range []float64{0.03, 0.06, 0.1, 0.15, 0.2, 0.3} {
		c, rss, ok := leastSquares(j.p.Live, one, rise(j.t, tau), j.t)
		if ok && rss < best && c[1] >= 0 {
			best, slope = rss, c[2]
		}
	}
	n := float64(len(j.t))
	if best >= 0.6*curve.rss || slope < j.o.MinGrowth || n < 10 {
		return false
	}
	residual := math.Sqrt(best / (n - 4))
	return slope > 3*max(residual, j.p.Noise)
}

// retention is what the tail keeps of what it allocates.
func (j *judge) retention() float64 {
	if j.p.Alloc == nil {
		return math.NaN()
	}
	from := tailFrom(len(j.t))
	live := tailSlope(j.t, j.p.Live)
	alloc, _ := theilSen(j.t[from:], j.p.Alloc[from:])
	if alloc <= 0 {
		return math.NaN()
	}
	return live / alloc
}

// loadDriven says whether the heap grew because allocation became faster: by
// Little's law live bytes are rate times lifetime, and the lifetime stayed.
func (j *judge) loadDriven(v *Verdict) bool {
	if math.IsNaN(v.Retention) || v.Retention >= 0.5 {
		return false
	}
	third := len(j.t) / 3
	early, _ := theilSen(j.t[:third+1], j.p.Alloc[:third+1])
	late, _ := theilSen(j.t[len(j.t)-third-1:], j.p.Alloc[len(j.t)-third-1:])
	liveEarly, liveLate := median(slices.Clone(j.p.Live[:third+1])), median(slices.Clone(j.p.Live[len(j.t)-third-1:]))
	if early <= 0 || liveEarly <= 0 || liveLate <= liveEarly {
		return false
	}
	rate := late / early
	return rate > 1.1 && math.Log(rate) > 0.6*math.Log(liveLate/liveEarly)
}

// resizing says whether few objects become larger, as when one table doubles.
func (j *judge) resizing(v *Verdict) bool {
	if v.Growth <= 0 || len(j.p.Objects) == 0 {
		return false
	}
	objects, _ := theilSen(j.t, j.p.Objects)
	first := median(slices.Clone(j.p.Live[:3]))
	return first > 0 && objects <= 0 && v.Growth > 0.25*first
}

// confidence grows with the significance of the trend, its distance from the noise and the
// straightness of its end, and falls with the doubts of the caller.
func (j *judge) confidence(v *Verdict) float64 {
	var base float64
	switch v.Label {
	case Leak:
		base = 0.95
	case LeakLate:
		base = 0.85
	case Suspect:
		base = 0.5
	case Warming, LoadDriven, Plateaued:
		base = 0.1
	default:
		return 0
	}
	significance := 1 - math.Exp(-math.Max(v.Z, 0)/1.5)
	clear := 1 - math.Exp(-v.Growth/(2*max(v.Sigma, 1)))
	straight := math.Min(1, 0.5+v.Tail/2)
	return base * significance * clear * max(straight, 0) * (1 - j.p.Doubt)
}
