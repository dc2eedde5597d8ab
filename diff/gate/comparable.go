package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// ErrNotComparable is that runs do not compare. It is wrapped with the runs' names and the reason.
var ErrNotComparable = errors.New("not comparable")

// mismatches are the reasons why runs do not compare, each with the runs that it holds for.
func mismatches(current *baseline.Run, earlier []*baseline.Run) (out []string) {
	var reasons []string
	names := map[string][]string{}
	add := func(r *baseline.Run, reason string) {
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		if !slices.Contains(names[reason], r.Meta.Name) { // the pinned run may be one of the pool
			names[reason] = append(names[reason], r.Meta.Name)
		}
	}
	for _, r := range append([]*baseline.Run{current}, earlier...) {
		if reason := r.Meta.Unsteady(); reason != "" {
			add(r, reason)
		}
	}
	for _, r := range earlier {
		for _, reason := range differences(&current.Meta, &r.Meta) {
			add(r, reason)
		}
	}
	for _, reason := range reasons {
		out = append(out, several(names[reason])+": "+reason)
	}
	return out
}

// several is the first of some names, and how many more there are.
func several(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// differences are what two runs must have in common and have not.
func differences(current, earlier *baseline.Meta) (out []string) {
	if current.Format != earlier.Format {
		out = append(out, fmt.Sprintf("recorded as %s, and the current run as %s", earlier.Format, current.Format))
	} else if current.Period != earlier.Period {
		out = append(out, fmt.Sprintf("%s, and the current run %s", sampling(earlier.Period), sampling(current.Period)))
	}
	if current.Workload != earlier.Workload && current.Workload != "" && earlier.Workload != "" {
		out = append(out, fmt.Sprintf("its workload is %q, that of the current run %q", earlier.Workload, current.Workload))
	}
	return out
}

func sampling(period int64) string {
	if period <= 1 {
		return "records every allocation"
	}
	return fmt.Sprintf("samples every %d bytes", period)
}

// check refuses runs that do not compare; with force it notes why they do not.
func (c *comparer) check() error {
	reasons := mismatches(c.runs[0], c.runs[1:])
	if len(reasons) == 0 {
		return nil
	}
	if !c.o.Force {
		return fmt.Errorf("%w: %s; --force compares anyway", ErrNotComparable, strings.Join(reasons, "; "))
	}
	for _, r := range reasons {
		c.notef("compared by force although %s", r)
	}
	return nil
}

// strangers is the share of the bytes that match nothing from which two runs have nothing to say of each other.
const strangers = 0.9

// recognise refuses runs that share next to nothing: they are of other programs, or one of them lost its names. Every function would
// be new, and so regressed.
func (c *comparer) recognise() error {
	s := c.result.UnmatchedShare()
	if s < strangers || slices.ContainsFunc(c.result.Rows, func(r Row) bool { return r.Status == Moved }) {
		return nil
	}
	reason := fmt.Sprintf("%.0f %% of the bytes match nothing on the other side: another program, or one that was rebuilt since, so that the earlier "+
		"snapshots have no names (heaplapse baseline save keeps them)", 100*s)
	if !c.o.Force {
		return fmt.Errorf("%w: %s; --force compares anyway", ErrNotComparable, reason)
	}
	c.notef("compared by force although %s", reason)
	return nil
}

// programs notes where another program ran: a build may have its own name, so this is no reason to refuse.
func (c *comparer) programs() {
	current := c.runs[0].Meta.Program
	for _, r := range c.runs[1:] {
		if p := r.Meta.Program; p != current && p != "" && current != "" {
			c.notef("%s ran %s, the current run %s", r.Meta.Name, p, current)
			return
		}
	}
}

// latestFirst orders runs by time; equal times by name, so that the order in which they are given means nothing.
func latestFirst(pool []*baseline.Run) []*baseline.Run {
	out := slices.Clone(pool)
	slices.SortStableFunc(out, func(a, b *baseline.Run) int {
		return cmp.Or(b.Meta.When().Compare(a.Meta.When()), strings.Compare(b.Meta.Name, a.Meta.Name))
	})
	return out
}

const (
	// likeSpan is how many times as long one run may last as another for slopes to compare.
	likeSpan = 1.5
	// sameSpan is the same for what was allocated where no work is known.
	sameSpan = 1.1
)

// lasted says whether a run took about as long as the current one.
func (c *comparer) lasted(run int, factor float64) bool {
	a, b := c.runs[0].Meta.Span, c.runs[run].Meta.Span
	return a > 0 && b > 0 && max(a, b) <= factor*min(a, b)
}

// sloped says whether a run's slopes compare with those of the current one.
func (c *comparer) sloped(run int) bool { return c.lasted(run, likeSpan) }

// worked says whether what was allocated is compared per unit of work.
func (c *comparer) worked() bool { return c.runs[0].Meta.Work > 0 }

// counted says whether what a run allocated compares with the current one.
func (c *comparer) counted(run int) bool {
	m := &c.runs[run].Meta
	if !m.HasAlloc || c.worked() != (m.Work > 0) {
		return false
	}
	return c.worked() || c.lasted(run, sameSpan)
}

// without counts the earlier runs that are not usable.
func (c *comparer) without(usable func(run int) bool) (n int) {
	for run := range c.runs[1:] {
		if !usable(run + 1) {
			n++
		}
	}
	return n
}

// omissions notes what is not compared with which runs.
func (c *comparer) omissions() {
	all := len(c.runs) - 1
	current := &c.runs[0].Meta
	switch n := c.without(c.sloped); {
	case current.Span == 0:
		c.notef("the current run has no clock: slopes are not compared")
	case n == all:
		c.notef("slopes are not compared: the current run lasted %s, those before %s; a level rises with time where something leaks", duration(current.Span), c.spans())
	case n > 0:
		c.notef("slopes are not compared with %d of %d runs: the current one lasted %s, those before %s", n, all, duration(current.Span), c.spans())
	}
	switch n := c.without(c.counted); {
	case n == 0 || !current.HasAlloc:
	case c.worked() && n == all:
		c.notef("what was allocated is not compared: no run before tells how much work it did (--work)")
	case c.worked():
		c.notef("what was allocated is not compared with %d of %d runs, which do not tell how much work they did (--work)", n, all)
	case c.anyWork():
		c.notef("what was allocated is not compared: the current run does not tell how much work it did (--work)")
	}
}

// anyWork says whether a run before tells its work.
func (c *comparer) anyWork() bool {
	return slices.ContainsFunc(c.runs[1:], func(r *baseline.Run) bool { return r.Meta.Work > 0 })
}

// spans are the shortest and the longest time that an earlier run took.
func (c *comparer) spans() string {
	shortest, longest := math.Inf(1), 0.0
	for _, r := range c.runs[1:] {
		shortest, longest = min(shortest, r.Meta.Span), max(longest, r.Meta.Span)
	}
	if shortest == longest {
		return duration(longest)
	}
	return duration(shortest) + " to " + duration(longest)
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
