package gate

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/suppress"
)

// Options tune [Compare]. The zero value works.
type Options struct {
	// Thresholds replace the default ones.
	Thresholds Override
	// Total replaces those of Thresholds for the heap as a whole.
	Total Override
	// Sites have thresholds of their own. The first rule that matches a function applies.
	Sites []SiteRule
	// Suppressions are known regressions; may be nil.
	Suppressions *suppress.List
	// Force compares runs that are not comparable. A note of the result has the reason.
	Force bool
}

// Thresholds are what a change must reach, all of them, to be a regression.
type Thresholds struct {
	// Bytes is the smallest change in bytes.
	Bytes float64
	// Share is the smallest change as a share, 0 to 1, of the whole heap before.
	Share float64
	// Percent is the smallest change in percent of what the function had before.
	Percent float64
	// Z is the smallest change in standard deviations of the noise between runs.
	Z float64
}

// DefaultThresholds returns 1 MiB, 0.5 % of the heap, 10 % of the function, and three standard
// deviations.
func DefaultThresholds() Thresholds {
	return Thresholds{Bytes: 1 << 20, Share: 0.005, Percent: 10, Z: 3}
}

// Override replaces some thresholds; nil leaves one as it is.
type Override struct{ Bytes, Share, Percent, Z *float64 }

// With returns t with the thresholds of o.
func (t Thresholds) With(o Override) Thresholds {
	for _, p := range []struct {
		to   *float64
		from *float64
	}{{&t.Bytes, o.Bytes}, {&t.Share, o.Share}, {&t.Percent, o.Percent}, {&t.Z, o.Z}} {
		if p.from != nil {
			*p.to = *p.from
		}
	}
	return t
}

// sets reports whether o replaces a threshold in bytes.
func (o Override) sets() bool { return o.Bytes != nil || o.Share != nil }

// SiteRule sets thresholds for the functions that a pattern matches by name, file or module.
type SiteRule struct {
	Pattern suppress.Matcher
	Override
	Reason string
}

// limits returns the thresholds of a row.
func (o *Options) limits(r *row) limits {
	names := r.names()
	rule := slices.IndexFunc(o.Sites, func(s SiteRule) bool { return s.Pattern.MatchAny(names) })
	if rule < 0 {
		return o.limitsWith(Override{}, rule)
	}
	return o.limitsWith(o.Sites[rule].Override, rule)
}

// heapLimits returns the thresholds of the heap as a whole.
func (o *Options) heapLimits() limits { return o.limitsWith(o.Total, -1) }

func (o *Options) limitsWith(own Override, rule int) limits {
	return limits{
		Thresholds: DefaultThresholds().With(o.Thresholds).With(own),
		chosenZ:    o.Thresholds.Z != nil || own.Z != nil,
		chosenSize: o.Thresholds.sets() || own.sets(),
		rule:       rule,
	}
}
