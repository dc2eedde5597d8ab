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
	// Sites have thresholds of their own. The first rule that matches a row counts.
	Sites []SiteRule
	// Suppressions are regressions that are known; nil for none.
	Suppressions *suppress.List
	// Force compares runs that do not compare, and says so.
	Force bool
}

// Thresholds are what a change must reach, all of them, to be a regression.
type Thresholds struct {
	// Bytes is the least change in bytes.
	Bytes float64
	// Share is the least change as a share, 0 to 1, of the whole heap before.
	Share float64
	// Percent is the least change in percent of what the row had before.
	Percent float64
	// Z is the least change in standard deviations of the noise between runs.
	Z float64
}

// DefaultThresholds are 1 MiB, 0.5 % of the heap, 10 % of the row, three standard deviations.
var DefaultThresholds = Thresholds{Bytes: 1 << 20, Share: 0.005, Percent: 10, Z: 3}

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

// SiteRule sets thresholds for the rows that a pattern matches: their function, its file or module.
type SiteRule struct {
	Pattern suppress.Matcher
	Override
	Reason string
}

// rule is the one that a row has, as an index into Sites; -1 for none.
func (o *Options) rule(r *row) int {
	if r.total {
		return -1
	}
	names := r.names()
	return slices.IndexFunc(o.Sites, func(s SiteRule) bool { return s.Pattern.MatchAny(names) })
}

// thresholds of a row, whose rule is given; chosen says that Z is not the default one.
func (o *Options) thresholds(r *row, rule int) (t Thresholds, chosen bool) {
	var own Override
	switch {
	case r.total:
		own = o.Total
	case rule >= 0:
		own = o.Sites[rule].Override
	}
	return DefaultThresholds.With(o.Thresholds).With(own), o.Thresholds.Z != nil || own.Z != nil
}
