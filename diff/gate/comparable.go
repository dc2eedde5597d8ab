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

// leastSnapshots of a run: the second half, of which its level is the median, has two then.
const leastSnapshots = 4

// ErrNotComparable is that runs do not compare. It is wrapped with the runs' names and the reason.
var ErrNotComparable = errors.New("not comparable")

// mismatches are the reasons why runs do not compare.
func mismatches(current *baseline.Run, earlier []*baseline.Run) (out []string) {
	for _, r := range append([]*baseline.Run{current}, earlier...) {
		if n := r.Meta.Snapshots; n < leastSnapshots {
			out = append(out, fmt.Sprintf("%s: too few snapshots for a steady level: %d, it takes %d or more", r.Meta.Name, n, leastSnapshots))
		}
	}
	for _, r := range earlier {
		for _, reason := range differences(&current.Meta, &r.Meta) {
			out = append(out, r.Meta.Name+": "+reason)
		}
	}
	return out
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
		return cmp.Or(b.Meta.Recorded.Compare(a.Meta.Recorded), strings.Compare(b.Meta.Name, a.Meta.Name))
	})
	return out
}

// spans compare how long the runs lasted, which is what slopes and counts that only rise depend on.
func (c *comparer) spans() {
	longest, shortest := 0.0, math.Inf(1)
	for _, r := range c.runs {
		longest, shortest = max(longest, r.Meta.Span), min(shortest, r.Meta.Span)
	}
	c.sloped = shortest > 0 && longest <= 1.5*shortest
	c.evenly = shortest > 0 && longest <= 1.1*shortest
	switch {
	case shortest == 0:
		c.notef("not every run has a clock: slopes are not compared")
	case !c.sloped:
		c.notef("the runs last from %s to %s: slopes are not compared, and a level rises with time where something leaks", duration(shortest), duration(longest))
	}
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// works looks at what cumulative counts can be divided by.
func (c *comparer) works() {
	known, counted := 0, 0
	for _, r := range c.runs {
		if r.Meta.Work > 0 {
			known++
		}
		if r.Meta.HasAlloc {
			counted++
		}
	}
	c.counted, c.worked = counted == len(c.runs), known == len(c.runs)
	switch {
	case !c.counted && counted > 0:
		c.notef("not every run has cumulative counts: what was allocated is not compared")
	case c.counted && known > 0 && !c.worked:
		c.notef("%d of %d runs tell how much work they did (--work): what was allocated is not compared", known, len(c.runs))
	}
}
