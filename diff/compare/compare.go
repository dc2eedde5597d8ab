package compare

import (
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Options tune [Snapshots] and [Persist]. The zero value works.
type Options struct {
	// GroupBy decides what is one row; "" takes [sites.ByFunction].
	GroupBy sites.GroupBy
	// Rules decide which frame a site is attributed to; nil takes the default ones.
	Rules *class.Rules
}

// Comparison is what changed from one snapshot to another.
type Comparison struct {
	Base, Current *Side
	// Rows are what changed in any count, ranked by the change of the bytes in use, largest first.
	Rows []Row
	// Unchanged is the number of groups that are the same on both sides.
	Unchanged int
	// SameProcess reports whether both snapshots are of one process image.
	SameProcess bool
	// Tiers counts the matches at each tier.
	Tiers identity.Tally
	// Foreign is the number of unmatched bytes in use, of both sides, whose stacks contain files
	// that the other side does not have: there they may have other names. Other unmatched bytes are
	// new or gone.
	Foreign int64
}

// Change is what happened to a row.
type Change string

// Changes.
const (
	ChangeNew     Change = "new"
	ChangeGone    Change = "gone"
	ChangeGrown   Change = "grown"
	ChangeShrunk  Change = "shrunk"
	ChangeChurned Change = "churned" // as many bytes in use as before, and more allocated
)

// Row is one group of sites.
type Row struct {
	Change        Change
	Base, Current heapfile.Counts
	// BaseBound and CurrentBound are the most that truncated snapshots may hide of the row beyond
	// Base and Current: of its sites that the other side has. math.MaxInt64 means that there is no
	// bound.
	BaseBound, CurrentBound heapfile.Counts
	// BaseSites and CurrentSites belong to the row, the largest first.
	BaseSites, CurrentSites []symbolize.SiteID
	// Tier is the least sure tier that matched any of the sites; Unmatched if none was matched.
	Tier identity.Tier
	// Noise is the standard deviation of the difference of the bytes in use due to sampling; 0 for
	// exact snapshots.
	Noise float64
	// Moved reports whether the function as a whole hardly changed: another row of the function
	// changed the other way.
	Moved bool
}

// Delta returns current minus base.
func (r *Row) Delta() heapfile.Counts { return r.Current.Sub(r.Base) }

// Snapshots returns what changed between two snapshots, of one process or of different ones.
func Snapshots(base, current *Side, o Options) *Comparison {
	p := pairOf(base, current, o)
	matches := p.match()
	c := &Comparison{Base: base, Current: current, SameProcess: p.sameProcess}
	c.Tiers, c.Foreign = p.shares(matches)
	c.Rows, c.Unchanged = p.changes(p.rows(matches))
	rank(c.Rows)
	return c
}

// Shown returns the difference of what both sides show, after filters.
func (c *Comparison) Shown() heapfile.Counts { return c.Current.Shown().Sub(c.Base.Shown()) }

// HasAlloc reports whether both snapshots have cumulative counts, without which their difference
// means nothing.
func (c *Comparison) HasAlloc() bool { return c.Base.Head.HasAlloc && c.Current.Head.HasAlloc }

// Total returns the difference of the snapshots' totals.
func (c *Comparison) Total() heapfile.Counts { return c.Current.Head.Heap().Sub(c.Base.Head.Heap()) }

// UnmatchedShare returns the share of the bytes in use, of both sides, that no tier matched.
func (c *Comparison) UnmatchedShare() float64 { return c.Tiers.UnmatchedShare() }

// ForeignShare returns the share of the bytes in use, of both sides, that is foreign.
func (c *Comparison) ForeignShare() float64 { return float64(c.Foreign) / max(c.Tiers.Bytes(), 1) }
