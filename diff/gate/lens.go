package gate

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// lens is one metric against one base: a way to look at every row.
type lens struct {
	metric Metric
	base   Base
	judged bool // it can fail the gate
	// of is the quantity that is compared, in bytes: of a level in a run.
	of func(run int, l baseline.Level) float64
	// noise is the standard deviation that is known of it without other runs.
	noise func(run int, l baseline.Level) float64
	// unit turns the quantity of a run into what is shown.
	unit func(run int) float64
	// whole is what the share of a threshold refers to, of a run's total.
	whole func(run int, l baseline.Level) float64

	pool    []int // the runs whose scatter is the noise
	centre  []int // the runs whose median is the base
	need    float64
	total   float64 // of the base: what the share of a threshold refers to
	pinned  bool
	signify bool
	scales  map[float64]calibration
}

// lenses are what the runs allow: each metric with the runs that have it.
func (c *comparer) lenses() (out []*lens) {
	always := func(int) bool { return true }
	for _, m := range []struct {
		of     func(lens) *lens
		usable func(run int) bool
	}{{c.level, always}, {c.slope, c.sloped}, {c.allocated, c.counted}} {
		if !m.usable(0) {
			continue
		}
		for _, b := range c.bases(m.usable) {
			out = append(out, m.of(b))
		}
	}
	return out
}

// bases are a lens without a metric for the pool, and one for the pinned run.
func (c *comparer) bases(usable func(run int) bool) (out []lens) {
	var pool []int
	for _, run := range c.pool {
		if usable(run) {
			pool = append(pool, run)
		}
	}
	l := lens{pool: pool, signify: len(pool) >= LeastBaselines, scales: map[float64]calibration{}}
	if len(pool) > 0 {
		l.base, l.centre = BaseSet, pool
		out = append(out, l)
	}
	if c.pinned > 0 && usable(c.pinned) {
		l.base, l.centre, l.pinned, l.scales = BaseReference, []int{c.pinned}, true, map[float64]calibration{}
		out = append(out, l)
	}
	return out
}

func one(int) float64 { return 1 }

func inUse(_ int, v baseline.Level) float64 { return v.Bytes }

func (c *comparer) level(l lens) *lens {
	l.metric, l.judged, l.unit = MetricLevel, true, one
	l.of = inUse
	l.whole = inUse
	l.noise = func(_ int, v baseline.Level) float64 { return v.Noise }
	return &l
}

// slope compares what is gained over a run: a faster machine does the same in less time.
func (c *comparer) slope(l lens) *lens {
	l.metric, l.judged = MetricSlope, true
	hours := func(run int) float64 { return c.runs[run].Meta.Span / 3600 }
	l.unit = func(run int) float64 { return 1 / hours(run) }
	l.whole = inUse
	l.of = func(run int, v baseline.Level) float64 { return v.Slope * hours(run) }
	l.noise = func(run int, v baseline.Level) float64 { return v.SlopeError * hours(run) }
	return &l
}

// allocated compares what was allocated for the work of the current run, or over the runs if they lasted equally long.
func (c *comparer) allocated(l lens) *lens {
	l.metric, l.judged = MetricAllocated, c.worked()
	l.noise = func(int, baseline.Level) float64 { return 0 }
	l.unit = one
	l.of = func(_ int, v baseline.Level) float64 { return v.AllocBytes }
	if c.worked() {
		work := c.runs[0].Meta.Work
		l.unit = func(int) float64 { return 1 / work }
		l.of = func(run int, v baseline.Level) float64 { return v.AllocBytes * work / c.runs[run].Meta.Work }
	}
	l.whole = l.of
	return &l
}

// values of a row in some runs.
func (l *lens) values(r *row, runs []int) []float64 {
	out := make([]float64, len(runs))
	for i, run := range runs {
		out[i] = l.of(run, r.levels[run])
	}
	return out
}

func (l *lens) before(r *row) float64 { return median(l.values(r, l.centre)) }
func (l *lens) after(r *row) float64  { return l.of(0, r.levels[0]) }

// known is the noise of the difference that the runs tell by themselves: sampling, scatter around a slope.
func (l *lens) known(r *row) float64 {
	noises := make([]float64, len(l.centre))
	for i, run := range l.centre {
		noises[i] = l.noise(run, r.levels[run])
	}
	return math.Hypot(l.noise(0, r.levels[0]), median(noises))
}

// scatter is the standard deviation between runs, not scaled: at least 2 % of the value.
func (l *lens) scatter(r *row) float64 {
	values := l.values(r, l.pool)
	out := deviation(values)
	if len(values) >= leastRobust {
		out = min(out, mad(values))
	}
	return max(out, leastNoise*math.Abs(l.before(r)))
}

// uncertainty is the noise by which a difference is judged.
func (l *lens) uncertainty(r *row, need float64) float64 {
	if !l.signify {
		return l.known(r)
	}
	return max(l.calibrated(need).noise(l.values(r, l.pool)), l.known(r), leastNoise*math.Abs(l.before(r)))
}

// calibrated is kept for each z: rules of single sites may ask for another one.
func (l *lens) calibrated(need float64) calibration {
	c, ok := l.scales[need]
	switch {
	case ok:
		return c
	case l.pinned:
		c = calibratePinned(len(l.pool), need)
	default:
		c = calibratePool(len(l.pool), need)
	}
	l.scales[need] = c
	return c
}
