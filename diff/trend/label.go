package trend

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// Thresholds of the confidence. They are the same for all input, because confidence is calibrated
// for each kind of it. docs/growth-benchmark.md has the table that they were chosen with.
const (
	// LeakConfidence is the least confidence of a leak by default.
	LeakConfidence = 0.6
	// SuspectConfidence is the least confidence of a suspect.
	SuspectConfidence = 0.25
)

const (
	evenOdds = 0.5
	// keeps is the share of the bytes that it allocates which a series keeps that frees next to
	// nothing.
	keeps = 0.9
)

// mostConfidence bounds the confidence where the shape is no evidence. A series whose end was not
// seen may have stopped growing there. One that was seen at its own record highs rises by
// construction, unless it keeps what it allocates.
func (s *series) mostConfidence(l line) float64 {
	if s.EndUnseen || s.HighWater && s.Dominates && !(l.retention >= keeps) {
		return evenOdds
	}
	return 1
}

// canLeak reports whether a series grew enough to be called a leak.
func (s *series) canLeak(l line, growth float64) bool {
	return growth >= s.minGrowth && (s.Live[len(s.t)-1] > s.Live[0] || l.over >= s.minGrowth)
}

// otherwise returns the label of a series that does not leak: what explains its growth best.
func (s *series) otherwise(l line, c curves, growth float64) verdict.Site {
	switch {
	case -l.over >= s.minGrowth && l.z <= -significant && -l.over >= 2*l.sigma:
		return verdict.Shrinking
	case s.canLeak(l, growth) && s.jump().isWhole():
		return verdict.GrewThenFlat
	case !s.growing(l):
		return verdict.Stable
	case s.oldRise(l, growth):
		return verdict.Plateaued
	case s.ImportShare > 0.5:
		return verdict.Loading
	case s.loadDriven(l):
		return verdict.LoadDriven
	case c.warming():
		return verdict.Warming
	}
	return verdict.Irregular
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

// lateLeak returns the line of the last part of a leak that seems to have begun within the series; false if
// it does not. It seems so if the best two lines meet after the first quarter, and the series was
// flat until then.
func (s *series) lateLeak(label verdict.Site, f *Features, growth float64) (line, bool) {
	from, _ := slices.BinarySearch(s.t, f[FeatureKnee])
	from = min(from, len(s.t)-1)
	before := s.Live[:from]
	if label != verdict.Leak || f[FeatureKnee] < 0.25 || len(s.t)-from < 4 || len(before) < 3 ||
		slices.Max(before)-slices.Min(before) > 0.1*growth {
		return line{}, false
	}
	late := series{
		Points: Points{T: s.T[from:], Live: s.Live[from:]}, t: s.t[from:],
		noise: s.noise, sample: s.sample, sampleError: s.sampleError,
	}
	return late.line(), true
}

// leakedBefore reports whether a leak whose line is that of the last part was there before, and other memory that was
// freed hid it in the curve: of what was allocated until then, nearly as much is in use as the leak has gained since,
// in the same time.
func (s *series) leakedBefore(v *Verdict, late line) bool {
	const nearly = 0.75
	knee := v.Features[FeatureKnee]
	return v.Births != nil && s.Births().Between(s.T[0], s.T[0]+knee*s.span) >= nearly*knee*late.Slope
}

// stopped is the slope of the last part, as a share of the whole slope, below which growth has
// stopped.
const stopped = 0.15

// oldRise reports whether the end of the series is flat and the last rise so old that chance hardly
// explains it: of k rises spread evenly over the span, none is in the last part f with probability
// (1−f)^k.
func (s *series) oldRise(l line, growth float64) bool {
	last, k := s.lastRise(growth)
	return l.tail.Slope/l.Slope < stopped && math.Pow(last, float64(k)) < 0.05
}

// warming reports whether a saturating curve fits better than a line, and most of its growth is
// past.
func (c *curves) warming() bool {
	return c.level.rss < 0.8*max(c.line.RSS, 1) && c.level.remaining < 0.5
}

// faster is the ratio of the late rate of allocation, or of work, to the early one that counts as a
// rise.
const faster = 1.1

// loadDriven reports whether the heap grew because allocation became faster: by Little's law the
// bytes in use are rate times lifetime, and the lifetime did not change. What has stopped to grow
// is not explained by the load.
func (s *series) loadDriven(l line) bool {
	if math.IsNaN(l.retention) || l.retention >= 0.5 || l.tail.Slope < stopped*l.Slope {
		return false
	}
	early, late := s.rates()
	liveEarly, liveLate := thirds(s.Live)
	if early <= 0 || liveEarly <= 0 || liveLate <= liveEarly {
		return false
	}
	rate := late / early
	return rate > faster && math.Log(rate) > 0.6*math.Log(liveLate/liveEarly)
}

// resizing reports whether few objects become larger, as when one table doubles.
func (s *series) resizing(growth float64) bool {
	if growth <= 0 || len(s.Objects) == 0 {
		return false
	}
	first := stats.Median(s.Live[:3])
	return first > 0 && slopeOf(s.t, s.Objects) <= 0 && growth > 0.25*first
}
