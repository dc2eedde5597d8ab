package trend

import (
	"math"
	"slices"
)

// Feature is one of the numbers that tell a leak from what only looks like one. Each is dimensionless, so that it means the same
// for a small heap and a large one, for an hour and a week.
type Feature int32

// The features. "Growth" in their definitions is that of the trend or, if it is larger, that from the first points to the last.
const (
	FeatureSignificance Feature = iota // Mann-Kendall's Z
	FeatureLateSignificance
	FeatureSize        // growth over the least growth that counts, at most 2
	FeatureClarity     // growth over the noise around the trend
	FeatureTail        // slope of the last two fifths, over the span, over the growth
	FeatureEnd         // the same for the last quarter
	FeatureTailClarity // that slope over its noise
	FeatureEvenness    // effective number of rises over the number of steps: 1 for a line, 0 for one jump
	FeatureGap         // −ln of the probability that the last rise lies as far back as it does
	FeatureSeparation  // lowest of the last third minus highest of the first, over the growth
	FeatureDirectness  // net growth over the length of the path
	FeatureSaturation  // ln of the residuals of the best saturating curve over those of a line
	FeaturePlateau     // ln of the residuals of a line that ends in a plateau over those of a line
	FeaturePlateauLength
	FeatureBend       // growth of the second half minus that of the first, over the whole
	FeatureKnee       // where two lines that meet fit best
	FeatureAfterKnee  // slope of the second of them, over the growth
	FeatureAfterKneeT // that slope over its standard error
	FeatureKneeByAlloc
	FeatureKneeByAllocT // both over allocated bytes instead of time
	FeatureLine         // slope of the line beside the best saturating curve, over the growth
	FeatureLineT
	FeatureLeakRatio     // √ of the likelihood ratio of lifetimes with a leak to lifetimes without
	FeatureLeakShare     // share of the growth that is put down to that leak
	FeatureLeakT         // that leak over its standard error
	FeatureLoad          // ln of the last third's allocation rate over the first's
	FeatureTailRetention // what the tail keeps of what it allocates
	FeatureRetention     // what the whole span keeps of what it allocates
	FeatureObjects       // ln of the growth of objects over that of bytes
	FeatureObjectSize    // ln of the late mean size over the early one
	FeatureSampling      // standard deviation by sampling over the growth
	FeatureAllocKnown    // 1 where cumulative counts are known
	FeatureRise          // ln of the late level over the early one
	FeatureCrowd         // the same for the median site of the process: load moves many sites at once
	FeatureHighWater     // 1 where snapshots were taken at record highs
	FeaturePoints        // ln of the number of points
	FeatureLastStep      // slope of the last step, over the span, over the growth
	FeatureLastSteps     // the same for the last two
	FeatureStop          // how many of their spreads the last two steps are below the median step
	FeatureLastKept      // what the last two steps keep of what they allocate, over what the span keeps
	FeatureCycle         // ln of the residuals of a line and the best wave over those of a line
	FeatureCycleLine     // slope of that line, over the growth
	FeatureCycleLineT    // that slope over its standard error
	FeatureFloor         // lowest of the last third minus lowest of the first, over the growth
	FeatureCeiling       // the same for the highest
	FeatureElsewhere     // slope in another image of the process, over that in this one: 1 for a leak that starts anew; 0 if there is none
	FeatureElsewhereZ    // Mann-Kendall's Z there
	FeatureTau           // ln of the time constant of the best saturating curve, in spans
	FeatureTurnover      // ln of the scatter of the steps over that of objects that are all replaced between two points
	FeatureResidence     // ln of the late mean time that bytes stay over the early one: 0 where load alone moves them
	FeatureResidenceZ    // Mann-Kendall's Z of that time
	FeatureDrop          // deepest fall from a height to a later low, over the growth
	FeatureSinceDrop     // how long before the end that low was
	FeatureSecured       // that low minus the first level, over the growth: what is lost cannot fall
	FeatureLeakOrCurve   // √ of the likelihood ratio of lifetimes with a leak to the best curve over time that levels off; negative where the curve is likelier
	FeatureBeside        // √ of the likelihood ratio of that curve with a line beside it to it alone; negative for a line that falls
	FeatureCount
)

var featureNames = [FeatureCount]string{
	"significance", "late-significance", "size", "clarity", "tail", "end", "tail-clarity", "evenness", "gap", "separation",
	"directness", "saturation", "plateau", "plateau-length", "bend", "knee", "after-knee", "after-knee-t", "knee-by-alloc",
	"knee-by-alloc-t", "line", "line-t", "leak-ratio", "leak-share", "leak-t", "load", "tail-retention", "retention", "objects", "object-size",
	"sampling", "alloc-known", "rise", "crowd", "high-water", "points",
	"last-step", "last-steps", "stop", "last-kept", "cycle", "cycle-line", "cycle-line-t", "floor", "ceiling",
	"elsewhere", "elsewhere-z", "tau", "turnover", "residence", "residence-z", "drop", "since-drop", "secured", "leak-or-curve", "beside",
}

// String is the stable name in the model's file.
func (f Feature) String() string { return featureNames[f] }

// Features are all numbers of one series; NaN never occurs.
type Features [FeatureCount]float64

// set stores a number within bounds; what is undefined is 0.
func (f *Features) set(i Feature, v, low, high float64) {
	if math.IsNaN(v) {
		v = 0
	}
	f[i] = math.Max(low, math.Min(high, v))
}

func (j *judge) features(v *Verdict) (f Features) {
	j.fit()
	growth := j.scale(v)
	f.set(FeatureSize, growth/j.o.MinGrowth, 0, 2)
	f.set(FeatureSampling, j.noise/growth, 0, 2)
	f.set(FeatureTurnover, math.Log(j.turnover+1e-3), -7, 3)
	f.set(FeaturePoints, math.Log(float64(len(j.t))), 0, 10)
	f.set(FeatureRise, Rise(j.p.Live), -3, 3)
	f.set(FeatureCrowd, j.p.Crowd, -3, 3)
	if j.p.HighWater {
		f[FeatureHighWater] = 1
	}
	j.trendFeatures(&f, v, growth)
	j.pathFeatures(&f, growth)
	j.endFeatures(&f, growth)
	j.cycleFeatures(&f, growth)
	j.curveFeatures(&f)
	j.besideFeatures(&f, growth)
	j.kneeFeatures(&f, growth)
	j.allocFeatures(&f, v, growth)
	j.objectFeatures(&f)
	j.elsewhereFeatures(&f, growth)
	return f
}

// Rise is ln of the mean of a series' last third over that of its first; 0 where either is not positive.
func Rise(live []float64) float64 {
	third := len(live) / 3
	if third == 0 {
		return 0
	}
	early, late := mean(live[:third]), mean(live[len(live)-third:])
	if early <= 0 || late <= 0 {
		return 0
	}
	return math.Log(late / early)
}

// scale is the growth that shares are of: by the trend or, if it began late, by the ends.
func (j *judge) scale(v *Verdict) float64 {
	y, n := j.p.Live, len(j.t)
	k := max(2, n/8)
	ends := median(slices.Clone(y[n-k:])) - median(slices.Clone(y[:k]))
	return math.Max(math.Max(math.Abs(v.Growth), math.Abs(ends)), 1)
}

func (j *judge) trendFeatures(f *Features, v *Verdict, growth float64) {
	y, n := j.p.Live, len(j.t)
	f.set(FeatureSignificance, v.Z, -8, 8)
	f.set(FeatureClarity, growth/math.Max(v.Sigma, 1), 0, 1000)
	f.set(FeatureTail, j.tail/growth, -2, 4)
	quarter := n - max(3, (n+3)/4)
	end, _ := theilSen(j.t[quarter:], y[quarter:])
	f.set(FeatureEnd, end/growth, -2, 5)
	from := tailFrom(n)
	noise := max(spread(j.t[from:], y[from:], j.tail, j.tailLevel), j.noise, 1)
	f.set(FeatureTailClarity, j.tail*math.Sqrt(sumSquares(j.t[from:]))/noise, -100, 100)
	late, lateTime := y[n/2:], j.t[n/2:]
	f.set(FeatureLateSignificance, significance(lateTime, late), -8, 8)
}

// pathFeatures describe the steps from point to point.
func (j *judge) pathFeatures(f *Features, growth float64) {
	y, n := j.p.Live, len(j.t)
	var up, squares, path float64
	for i := 1; i < n; i++ {
		d := y[i] - y[i-1]
		path += math.Abs(d)
		up += max(d, 0)
		squares += max(d, 0) * max(d, 0)
	}
	f.set(FeatureEvenness, up*up/max(squares, 1)/float64(n-1), 0, 1)
	f.set(FeatureDirectness, (y[n-1]-y[0])/max(path, 1), -1, 1)
	last, k := j.lastRise(growth)
	f.set(FeatureGap, -float64(k)*math.Log(max(last, 1e-3)), 0, 20)
	third := n / 3
	f.set(FeatureSeparation, (slices.Min(y[n-third:])-slices.Max(y[:third]))/growth, -1, 1)
	drop, low := deepestFall(y)
	f.set(FeatureDrop, drop/growth, 0, 3)
	f.set(FeatureSinceDrop, 1-j.t[low], 0, 1)
	f.set(FeatureSecured, (y[low]-y[0])/growth, -2, 1)
}

// deepestFall is the most that a series falls from a height to a later low, and where that is: for one that never falls 0, and the first point.
func deepestFall(y []float64) (drop float64, low int) {
	high := y[0]
	for i, v := range y {
		high = math.Max(high, v)
		if high-v > drop {
			drop, low = high-v, i
		}
	}
	return drop, low
}

// endFeatures look at the last two steps: what fills up may be full only since then.
func (j *judge) endFeatures(f *Features, growth float64) {
	y, t, n := j.p.Live, j.t, len(j.t)
	steps := make([]float64, 0, n-1)
	for i := 1; i < n; i++ {
		steps = append(steps, (y[i]-y[i-1])/(t[i]-t[i-1]))
	}
	last := (y[n-1] - y[n-3]) / (t[n-1] - t[n-3])
	f.set(FeatureLastStep, steps[n-2]/growth, -3, 5)
	f.set(FeatureLastSteps, last/growth, -3, 5)
	usual := median(slices.Clone(steps[:n-3]))
	for i := range steps {
		steps[i] = math.Abs(steps[i] - usual)
	}
	spread := 1.4826 * median(steps[:n-3])
	f.set(FeatureStop, (usual-last)/max(spread, 0.02*growth), -20, 50)
	if alloc := j.p.Alloc; alloc != nil {
		late, all := alloc[n-1]-alloc[n-3], alloc[n-1]-alloc[0]
		f.set(FeatureLastKept, (y[n-1]-y[n-3])/max(late, 1)/(growth/max(all, 1)), -3, 5)
	}
}

// waves are the periods that are tried, as shares of the span.
var waves = []float64{0.1, 0.14, 0.2, 0.27, 0.36, 0.48, 0.6, 0.75, 0.9, 1.1, 1.4}

// cycleFeatures look for a trend beside a wave, such as a day's.
func (j *judge) cycleFeatures(f *Features, growth float64) {
	y, t, n := j.p.Live, j.t, len(j.t)
	third := n / 3
	f.set(FeatureFloor, (slices.Min(y[n-third:])-slices.Min(y[:third]))/growth, -2, 2)
	f.set(FeatureCeiling, (slices.Max(y[n-third:])-slices.Max(y[:third]))/growth, -2, 2)
	floor := j.line*1e-4 + 1
	best := j.line
	f.set(FeatureCycleLine, j.slope/growth, -2, 3)
	sin, cos := make([]float64, n), make([]float64, n)
	for _, period := range waves {
		if period*float64(n) < 4 {
			continue // less than four points a period: any zigzag fits
		}
		for i, x := range t {
			sin[i], cos[i] = math.Sincos(2 * math.Pi * x / period)
		}
		if c, rss, ok := leastSquares(y, j.one, sin, cos, t); ok && rss < best {
			best = rss
			f.set(FeatureCycleLine, c[3]/growth, -2, 3)
			f.set(FeatureCycleLineT, c[3]/max(lastError(rss, j.one, sin, cos, t), 1e-3*growth), -100, 1000)
		}
	}
	f.set(FeatureCycle, math.Log((best+floor)/(j.line+floor)), -10, 0)
}

// lastRise is when the last of k new maxima that count was reached.
func (j *judge) lastRise(growth float64) (last float64, k int) {
	threshold := max(0.03*growth, j.o.MinGrowth/16)
	high := j.p.Live[0]
	last = j.t[0]
	for i, y := range j.p.Live {
		if y >= high+threshold {
			high, last, k = y, j.t[i], k+1
		}
	}
	return last, k
}

// curveFeatures compare curves that end with a line that does not.
func (j *judge) curveFeatures(f *Features) {
	y := j.p.Live
	floor := j.line*1e-4 + 1
	f.set(FeatureSaturation, math.Log((j.curve.rss+floor)/(j.line+floor)), -10, 0)
	plateau, from := j.plateau()
	j.level = min(j.curve.rss, plateau)
	f.set(FeaturePlateau, math.Log((plateau+floor)/(j.line+floor)), -10, 0)
	f.set(FeaturePlateauLength, 1-from, 0, 1)
	half := len(j.t) / 2
	first, _ := theilSen(j.t[:half+1], y[:half+1])
	second, _ := theilSen(j.t[half:], y[half:])
	f.set(FeatureBend, (second-first)/max(math.Abs(j.slope), 1), -3, 3)
}

// plateau is the best line that becomes level, and where it does.
func (j *judge) plateau() (rss, from float64) {
	rss, from = j.line, 1
	hinge := make([]float64, len(j.t))
	for _, knee := range knees(j.t, 2, 1) {
		for i, x := range j.t {
			hinge[i] = math.Min(x, knee)
		}
		if c, r, ok := leastSquares(j.p.Live, j.one, hinge); ok && c[1] > 0 && r < rss {
			rss, from = r, knee
		}
	}
	return rss, from
}

// maxKnees bounds the places where a knee is tried.
const maxKnees = 24

// knees are places for a knee, from the given number of points after the start to that before the end.
func knees(t []float64, after, before int) (out []float64) {
	inner := t[after : len(t)-before]
	n := min(maxKnees, len(inner))
	for i := range n {
		out = append(out, inner[i*len(inner)/n])
	}
	return out
}

func (j *judge) kneeFeatures(f *Features, growth float64) {
	slope, se, at := twoLines(j.t, j.p.Live)
	f.set(FeatureKnee, at, 0, 1)
	f.set(FeatureAfterKnee, slope/growth, -2, 5)
	f.set(FeatureAfterKneeT, slope/max(se, 1e-3*growth), -100, 1000)
	a := j.t
	if alloc := j.p.Alloc; alloc != nil && alloc[len(alloc)-1] > alloc[0] {
		a = normalised(alloc)
	}
	slope, se, _ = twoLines(a, j.p.Live)
	f.set(FeatureKneeByAlloc, slope/growth, -2, 5)
	f.set(FeatureKneeByAllocT, slope/max(se, 1e-3*growth), -100, 1000)
}

// twoLines fits two lines that meet, and returns the slope of the second, its standard error and where they meet.
func twoLines(t, y []float64) (slope, se, at float64) {
	one := ones(len(t))
	best := math.Inf(1)
	before, after := make([]float64, len(t)), make([]float64, len(t))
	for _, k := range knees(t, 1, 2) {
		for i, x := range t {
			before[i], after[i] = math.Min(x, k), math.Max(0, x-k)
		}
		if c, rss, ok := leastSquares(y, one, before, after); ok && rss < best {
			best, slope, at = rss, c[2], k
			se = slopeError(one, before, after, rss)
		}
	}
	return slope, se, at
}

// allocFeatures look at what was allocated beside what is live. Without cumulative counts the rate is taken for constant.
func (j *judge) allocFeatures(f *Features, v *Verdict, growth float64) {
	alloc, n := j.p.Alloc, len(j.t)
	if alloc == nil {
		alloc = j.t
	} else {
		f[FeatureAllocKnown] = 1
		early, late := j.rates()
		f.set(FeatureLoad, math.Log(max(late, 1)/max(early, 1)), -4, 4)
		f.set(FeatureTailRetention, v.Retention, -1, 1.5)
		f.set(FeatureRetention, (j.p.Live[n-1]-j.p.Live[0])/max(alloc[n-1]-alloc[0], 1), -1, 1.5)
		j.residenceFeatures(f)
	}
	fit := fitLifetimes(j.t, j.p.Live, alloc, j.p.Alloc != nil)
	floor := float64(n)*j.noise*j.noise + growth*growth*1e-6 + 1
	f.set(FeatureLeakRatio, likelihoodRoot(n, fit.with+floor, fit.without+floor), 0, 50)
	if fit.leaked > 0 {
		f.set(FeatureLeakOrCurve, likelihoodRoot(n, fit.with+floor, j.level+floor), -25, 25)
	}
	f.set(FeatureLeakShare, fit.leaked/growth, 0, 3)
	f.set(FeatureLeakT, fit.leaked/max(fit.se, 1e-3*growth), 0, 1000)
}

// residenceFeatures follow the mean time that bytes stay: by Little's law that is what is live over the rate of allocation. Load moves both; a
// leak moves the time.
func (j *judge) residenceFeatures(f *Features) {
	var t, stay []float64
	for i := 1; i < len(j.t); i++ {
		if came := j.p.Alloc[i] - j.p.Alloc[i-1]; came > 0 {
			t = append(t, j.t[i])
			stay = append(stay, (j.p.Live[i-1]+j.p.Live[i])/2*(j.t[i]-j.t[i-1])/came)
		}
	}
	if len(stay) < 4 {
		return
	}
	if early, late := thirds(stay); early > 0 && late > 0 {
		f.set(FeatureResidence, math.Log(late/early), -4, 4)
	}
	f.set(FeatureResidenceZ, significance(t, stay), -8, 8)
}

// objectFeatures tell more objects from larger ones.
func (j *judge) objectFeatures(f *Features) {
	if j.p.Objects == nil {
		return
	}
	o1, o2 := thirds(j.p.Objects)
	y1, y2 := thirds(j.p.Live)
	if o1 <= 0 || o2 <= 0 || y1 <= 0 || y2 <= 0 {
		return
	}
	f.set(FeatureObjectSize, math.Log((y2/o2)/(y1/o1)), -2, 2)
	if y2 > y1 {
		f.set(FeatureObjects, math.Log(o2/o1)/math.Log(y2/y1), -2, 3)
	}
}

// elsewhereFeatures look at another image of the process.
func (j *judge) elsewhereFeatures(f *Features, growth float64) {
	if j.p.Elsewhere == nil {
		return
	}
	e := j.p.Elsewhere.distinct().windowed(maxWindows)
	slope, _ := theilSen(e.T, e.Live)
	f.set(FeatureElsewhere, slope*j.span/growth, -2, 3)
	f.set(FeatureElsewhereZ, significance(e.T, e.Live), -8, 8)
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
