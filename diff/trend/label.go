package trend

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
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
	Insufficient // too few points
)

var labelNames = [...]string{
	"leak", "leak-late", "suspect", "warming", "plateaued", "load-driven",
	"grew-then-flat", "shrinking", "stable", "insufficient",
}

// String returns the stable name used in JSON, e.g. "leak-late".
func (l Label) String() string { return labelNames[l] }

// IsLeak reports whether the label is Leak or LeakLate.
func (l Label) IsLeak() bool { return l == Leak || l == LeakLate }

// signals are plain patterns that explain growth which is no leak.
type signals struct {
	jumped     bool // one step explains the growth
	oldRise    bool // the last rise is old, and the series is flat since
	loadDriven bool // the process allocates faster
	warming    bool // a saturating curve fits better than a line
}

func (s *series) signals(l line, c curves, growth float64) signals {
	return signals{s.jumped(), s.oldRise(l, growth), s.loadDriven(l), c.warming()}
}

// Confidence from which a series that grew enough is called a leak, and from which it is a suspect.
// Few points, and estimates, need more.
const (
	leakAt        = 0.54
	leakAtSampled = 0.6
	leakAtFew     = 0.68
	suspectAt     = 0.25
	// fewPoints is the number of points below which a slower rise at the end may be chance.
	fewPoints = 14
)

func (s *series) leakAt() float64 {
	switch {
	case len(s.t) < fewPoints:
		return leakAtFew
	case s.Period > 0:
		return leakAtSampled
	}
	return leakAt
}

const (
	evenOdds = 0.5
	// keeps is the share of the bytes that it allocates which a series keeps that frees next to
	// nothing.
	keeps = 0.9
)

// mostConfidence bounds the confidence where the model has no evidence: one jump does not predict
// the next, and a series that was seen at its own record highs rises by construction, unless it
// keeps what it allocates.
func (s *series) mostConfidence(l line, g signals) float64 {
	if g.jumped || s.HighWater && s.Dominates && !(l.retention >= keeps) {
		return evenOdds
	}
	return 1
}

// label of a series that grew or shrank. A series that does not leak gets the label that explains
// the growth best.
func (s *series) label(l line, growth, confidence float64, g signals) Label {
	large := growth >= s.minGrowth && (s.Live[len(s.t)-1] > s.Live[0] || l.over >= s.minGrowth)
	switch {
	case large && confidence >= s.leakAt():
		return Leak
	case -l.over >= s.minGrowth && l.z <= -significant && -l.over >= 2*l.sigma:
		return Shrinking
	case !large && !s.growing(l):
		return Stable
	case g.jumped:
		return GrewThenFlat
	case confidence >= suspectAt:
		return Suspect
	case !s.growing(l):
		return Stable
	case g.oldRise:
		return Plateaued
	case g.loadDriven:
		return LoadDriven
	case g.warming:
		return Warming
	}
	return Suspect
}

const (
	significant    = 2.326 // one-sided 1 % of the normal distribution
	significantFew = 1.645 // 5 %, for fewer than 8 points: none of them reach 1 %
)

// growing reports whether the trend is large enough, significant and clear of the noise.
func (s *series) growing(l line) bool {
	z := significant
	if len(s.t) < 8 {
		z = significantFew
	}
	return l.over >= s.minGrowth && l.z >= z && l.over >= 2*l.sigma
}

// lateLeak returns the line of the last part of a leak that began within the series; false if it
// did not. It began late if the best two lines meet after the first quarter, and the series was
// flat until then.
func (s *series) lateLeak(label Label, f *Features, growth float64) (line, bool) {
	from, _ := slices.BinarySearch(s.t, f[FeatureKnee])
	from = min(from, len(s.t)-1)
	before := s.Live[:from]
	if label != Leak || f[FeatureKnee] < 0.25 || len(s.t)-from < 4 || len(before) < 3 ||
		slices.Max(before)-slices.Min(before) > 0.1*growth {
		return line{}, false
	}
	late := series{Points: Points{T: s.T[from:], Live: s.Live[from:]}, t: s.t[from:], noise: s.noise}
	return late.line(), true
}

// jumped reports whether one step explains the growth: flat before, flat after.
func (s *series) jumped() bool {
	y := s.Live
	n := len(y)
	total := stats.SumSquares(y)
	if total == 0 || n < 8 {
		return false
	}
	best, at := math.Inf(1), 0
	for k := 2; k <= n-3; k++ {
		if r := stats.SumSquares(y[:k]) + stats.SumSquares(y[k:]); r < best {
			best, at = r, k
		}
	}
	if best > 0.1*total {
		return false
	}
	step := stats.Mean(y[at:]) - stats.Mean(y[:at])
	before, after := slopeOf(s.t[:at], y[:at]), slopeOf(s.t[at:], y[at:])
	inside := math.Abs(before*s.t[at-1]) + math.Abs(after*(1-s.t[at]))
	return step > 0 && inside < 0.15*step
}

// oldRise reports whether the end of the series is flat and the last rise so old that chance hardly
// explains it: of k rises spread evenly over the span, none is in the last part f with probability
// (1−f)^k.
func (s *series) oldRise(l line, growth float64) bool {
	last, k := s.lastRise(growth)
	return l.tail.Slope/l.Slope < 0.15 && math.Pow(last, float64(k)) < 0.05
}

// warming reports whether a saturating curve fits better than a line, and most of its growth is
// past.
func (c *curves) warming() bool {
	return c.level.rss < 0.8*max(c.line.RSS, 1) && c.level.remaining < 0.5
}

// loadDriven reports whether the heap grew because allocation became faster: by Little's law the
// bytes in use are rate times lifetime, and the lifetime did not change.
func (s *series) loadDriven(l line) bool {
	if math.IsNaN(l.retention) || l.retention >= 0.5 {
		return false
	}
	early, late := s.rates()
	liveEarly, liveLate := thirds(s.Live)
	if early <= 0 || liveEarly <= 0 || liveLate <= liveEarly {
		return false
	}
	rate := late / early
	return rate > 1.1 && math.Log(rate) > 0.6*math.Log(liveLate/liveEarly)
}

// resizing reports whether few objects become larger, as when one table doubles.
func (s *series) resizing(growth float64) bool {
	if growth <= 0 || len(s.Objects) == 0 {
		return false
	}
	first := stats.Median(s.Live[:3])
	return first > 0 && slopeOf(s.t, s.Objects) <= 0 && growth > 0.25*first
}
