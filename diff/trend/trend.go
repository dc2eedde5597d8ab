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
	// Period is the mean number of bytes between samples, where Live and Objects are estimates; 0 for exact input.
	Period float64
	// Crowd is the median [Rise] of all series of the process that move at all.
	Crowd float64
	// HighWater says that the points were taken at record highs of the heap, and so rise by construction.
	HighWater bool
	// Dominates says that the series makes up most of the heap's growth: at record highs of the heap it is at its own.
	Dominates bool
	// Elsewhere is the same site in another image of the process, before or after a restart; nil if there is none. Only T and
	// Live are used.
	Elsewhere *Points
}

// Options are the thresholds; the zero value takes the defaults.
type Options struct {
	// MinGrowth is the least growth over the series that counts, in bytes; 0 takes DefaultMinGrowth.
	MinGrowth float64
}

// DefaultMinGrowth is the least growth that counts by default, in bytes.
const DefaultMinGrowth = 1 << 20

// Verdict is what Judge found, with the numbers behind it.
type Verdict struct {
	Label Label
	// Confidence is the probability that the series leaks, whatever its label: see model.go.
	Confidence float64
	// Features are what Confidence was computed from; zero for a series that hardly grew.
	Features Features
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
	j, ok := newJudge(p, o)
	if !ok {
		return Verdict{Label: Insufficient, Points: len(p.T), Retention: math.NaN()}
	}
	v := j.measure()
	v.Points, v.Label = len(p.T), Stable
	if j.scale(&v) >= leastScale*j.o.MinGrowth {
		v.Features = j.features(&v)
		seen := j.look(&v)
		v.Confidence = min(model().Probability(&v.Features), j.most(&v, seen))
		v.Label = j.label(&v, seen)
	}
	v.Resizing = j.resizing(&v)
	v.Slope, v.Low, v.High = v.Slope/j.span, v.Low/j.span, v.High/j.span
	return v
}

// sights are what may be plain to see of a series, beside its features.
type sights struct {
	jumped, gapIsOld, loadDriven, warming bool
}

func (j *judge) look(v *Verdict) sights {
	return sights{j.jumped(), j.gapIsOld(v), j.loadDriven(v), j.warming()}
}

// most bounds the confidence where the model cannot know better: one jump says nothing of the next, and what is seen at its
// own record highs rises by construction.
func (j *judge) most(v *Verdict, seen sights) float64 {
	if seen.jumped || j.p.HighWater && j.p.Dominates && !(v.Retention >= keeps) {
		return evenOdds
	}
	return 1
}

const (
	evenOdds = 0.5
	// keeps is the share of what it allocates that a series keeps which frees next to nothing.
	keeps = 0.9
)

// leastScale is the share of the least growth below which a series is not looked at closely.
const leastScale = 0.3

// newJudge prepares the points; ok is false for too few of them, and for what is no number.
func newJudge(p Points, o Options) (j *judge, ok bool) {
	if o.MinGrowth == 0 {
		o.MinGrowth = DefaultMinGrowth
	}
	p = p.distinct()
	if len(p.T) < MinPoints || slices.ContainsFunc(p.Live, func(y float64) bool { return math.IsNaN(y) || math.IsInf(y, 0) }) {
		return nil, false
	}
	j = &judge{o: o, noise: p.noise(), turnover: p.turnover(), span: p.T[len(p.T)-1] - p.T[0]}
	j.p = p.windowed(maxWindows)
	j.t, j.one = normalised(j.p.T), ones(len(j.p.T))
	return j, true
}

// distinct keeps the last of points at one time: what happened between them took no time.
func (p Points) distinct() Points {
	last := func(i int) bool { return i+1 == len(p.T) || p.T[i+1] > p.T[i] }
	pick := func(v []float64) (out []float64) {
		for i := range v {
			if last(i) {
				out = append(out, v[i])
			}
		}
		return out
	}
	out := p
	out.T, out.Live, out.Objects, out.Alloc = pick(p.T), pick(p.Live), pick(p.Objects), pick(p.Alloc)
	return out
}

// maxWindows bounds the points of the statistics, whose cost is quadratic.
const maxWindows = 64

// windowed replaces a long series by the medians of n windows of equal numbers of points.
func (p Points) windowed(n int) Points {
	if len(p.T) <= n {
		return p
	}
	out := p
	out.T, out.Live, out.Objects, out.Alloc = nil, nil, nil, nil
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
	one  []float64 // the constant of the fits
	span float64
	// noise is the standard deviation that sampling gives Live, and turnover what turnover says: see sampling.go.
	noise, turnover float64

	// tail and tailLevel are the line through the last two fifths: see measure.
	tail, tailLevel float64
	// slope and line are the least-squares line's slope and residuals; curve is the best saturating curve, and beside the best with a
	// line beside it: see fit.
	slope, line float64
	curve       saturating
	beside      beside
	level       float64 // the least residuals of a curve or a line that becomes level
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
	all := slopes(j.t, y)
	slope, intercept := medianLine(j.t, y, all)
	variance := kendallVarianceAround(j.t, y, slope, intercept)
	v := Verdict{Points: len(y), Slope: slope, Growth: slope}
	v.Low, v.High = senInterval(all, variance)
	v.Sigma = max(spread(j.t, y, slope, intercept), j.noise)
	if s := kendall(y); s != 0 && variance > 0 {
		v.Z = (s - math.Copysign(1, s)) / math.Sqrt(variance)
	}
	from := tailFrom(len(j.t))
	j.tail, j.tailLevel = theilSen(j.t[from:], y[from:])
	v.Tail = j.tail / slope
	v.Retention = j.retention()
	return v
}

// tailFrom is where the last two fifths begin, four points at least.
func tailFrom(n int) int { return n - max(4, (2*n+2)/5) }

// Confidence from which a series that grew enough is called a leak, and a suspect. More is asked of few points, and of estimates.
const (
	leakAt        = 0.54
	leakAtSampled = 0.6
	leakAtFew     = 0.68
	suspectAt     = 0.25
	// fewPoints is where the end of a series is too short to tell a slower rise from chance.
	fewPoints = 14
)

func (j *judge) leakAt() float64 {
	switch {
	case len(j.t) < fewPoints:
		return leakAtFew
	case j.p.Period > 0:
		return leakAtSampled
	}
	return leakAt
}

// label of a series that grew or shrank: it says leak where the model does, and otherwise what explains the growth best.
func (j *judge) label(v *Verdict, seen sights) Label {
	large := j.scale(v) >= j.o.MinGrowth && (j.p.Live[len(j.t)-1] > j.p.Live[0] || v.Growth >= j.o.MinGrowth)
	switch {
	case large && v.Confidence >= j.leakAt():
		return j.leakLabel(v)
	case -v.Growth >= j.o.MinGrowth && v.Z <= -2.326 && -v.Growth >= 2*v.Sigma:
		return Shrinking
	case !large && !j.growing(v):
		return Stable
	case seen.jumped:
		return GrewThenFlat
	case v.Confidence >= suspectAt:
		return Suspect
	case !j.growing(v):
		return Stable
	case seen.gapIsOld:
		return Plateaued
	case seen.loadDriven:
		return LoadDriven
	case seen.warming:
		return Warming
	}
	return Suspect
}

// leakLabel tells a leak that began within the series, and then gives the numbers of its own part of it.
func (j *judge) leakLabel(v *Verdict) Label {
	f := &v.Features
	from := sortedIndex(j.t, f[FeatureKnee])
	if before := j.p.Live[:from]; f[FeatureKnee] < 0.25 || len(j.t)-from < 4 || len(before) < 3 ||
		slices.Max(before)-slices.Min(before) > 0.1*j.scale(v) {
		return Leak
	}
	late := judge{p: Points{T: j.t[from:], Live: j.p.Live[from:]}, o: j.o, t: j.t[from:], noise: j.noise}
	w := late.measure()
	v.Slope, v.Low, v.High, v.Sigma = w.Slope, w.Low, w.High, w.Sigma
	v.Growth = w.Slope * (1 - j.t[from])
	return LeakLate
}

// sortedIndex is the first index whose value is not less than x.
func sortedIndex(t []float64, x float64) int {
	i, _ := slices.BinarySearch(t, x)
	return min(i, len(t)-1)
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

// gapIsOld says whether the series is flat at its end and the last rise lies so far back that chance hardly explains it: with k
// rises spread evenly over the span, none falls into the last part f with probability (1−f)^k.
func (j *judge) gapIsOld(v *Verdict) bool {
	last, k := j.lastRise(j.scale(v))
	return v.Tail < 0.15 && math.Pow(last, float64(k)) < 0.05
}

// warming says whether a saturating curve c + a(1 − e^(−t/τ)) fits better than a line, and has more behind it than before it.
func (j *judge) warming() bool {
	return j.curve.rss < 0.8*max(j.line, 1) && j.curve.remaining < 0.5
}

// retention is what the tail keeps of what it allocates.
func (j *judge) retention() float64 {
	if j.p.Alloc == nil {
		return math.NaN()
	}
	from := tailFrom(len(j.t))
	alloc, _ := theilSen(j.t[from:], j.p.Alloc[from:])
	if alloc <= 0 {
		return math.NaN()
	}
	return j.tail / alloc
}

// loadDriven says whether the heap grew because allocation became faster: by
// Little's law live bytes are rate times lifetime, and the lifetime stayed.
func (j *judge) loadDriven(v *Verdict) bool {
	if math.IsNaN(v.Retention) || v.Retention >= 0.5 {
		return false
	}
	early, late := j.rates()
	liveEarly, liveLate := thirds(j.p.Live)
	if early <= 0 || liveEarly <= 0 || liveLate <= liveEarly {
		return false
	}
	rate := late / early
	return rate > 1.1 && math.Log(rate) > 0.6*math.Log(liveLate/liveEarly)
}

// rates are the rates of allocation in the first and in the last third.
func (j *judge) rates() (early, late float64) {
	third := len(j.t) / 3
	early, _ = theilSen(j.t[:third+1], j.p.Alloc[:third+1])
	late, _ = theilSen(j.t[len(j.t)-third-1:], j.p.Alloc[len(j.t)-third-1:])
	return early, late
}

// thirds are the medians of the first and of the last third.
func thirds(y []float64) (early, late float64) {
	third := len(y) / 3
	return median(slices.Clone(y[:third+1])), median(slices.Clone(y[len(y)-third-1:]))
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
