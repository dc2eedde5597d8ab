package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Side is one of the snapshots that are compared.
type Side struct {
	Series  *series.Series
	Symbols *symbolize.Symbols
	// Head is the snapshot, without rows.
	Head *series.Head
	// Filter keeps some stacks; nil keeps all.
	Filter *symbolize.Filter

	sites  []symbolize.SiteID // in order of appearance
	counts []heapfile.Counts  // parallel to sites, estimated
	index  map[symbolize.SiteID]int
}

// NewSide reads a snapshot of a series again and sums its rows by site.
func NewSide(series *series.Series, symbols *symbolize.Symbols, index int, filter *symbolize.Filter) (*Side, error) {
	s := &Side{Series: series, Symbols: symbols, Head: series.Heads[index], Filter: filter, index: map[symbolize.SiteID]int{}}
	snap, err := series.Read(index)
	if err != nil {
		return nil, err
	}
	for _, row := range snap.Samples {
		if !filter.Keep(row.Stack) {
			continue
		}
		site := symbols.Site(row.Stack)
		i, ok := s.index[site]
		if !ok {
			i = len(s.sites)
			s.index[site] = i
			s.sites, s.counts = append(s.sites, site), append(s.counts, heapfile.Counts{})
		}
		s.counts[i] = s.counts[i].Add(row.Estimate(snap.Period))
	}
	return s, nil
}

// Stack is the stack that stands for a site.
func (s *Side) Stack(site symbolize.SiteID) []symbolize.LocationID {
	return s.Symbols.Stack(s.Symbols.SiteStack(site))
}

// Shown is the sum of the sites.
func (s *Side) Shown() (c heapfile.Counts) {
	for _, n := range s.counts {
		c = c.Add(n)
	}
	return c
}

// Empty says that a filter dropped all sites.
func (s *Side) Empty() bool { return s.Filter != nil && len(s.sites) == 0 }

// Hidden is what the header counts and no row shows: zero for a complete snapshot.
func (s *Side) Hidden() heapfile.Counts {
	if s.Filter != nil {
		return heapfile.Counts{}
	}
	return s.Head.Heap().Sub(s.Shown())
}

// CompareOptions tune [Compare]. The zero value works.
type Options struct {
	// GroupBy decides what is one row; "" takes [ByFunction].
	GroupBy sites.GroupBy
	// Rules decide which frame is to blame; nil takes the default ones.
	Rules *class.Rules
}

// Comparison is what changed from one snapshot to another. The differences of the rows and
// of what is hidden add up to the difference of the totals.
type Comparison struct {
	Base, Current *Side
	// Rows are ranked by the size of the change of the bytes in use, largest first, and hold what changed in any count.
	Rows []DeltaRow
	// Unchanged is the number of groups that are the same on both sides.
	Unchanged int
	// SameProcess says that both are of one process image, where addresses mean the same.
	SameProcess bool
	// Tiers tells how the sites of current and base were matched, by bytes in use on both sides.
	Tiers [identity.Unmatched + 1]TierShare
	// Foreign are the bytes in use, of both sides, that no step matched and whose stacks lead through files that the other side does
	// not have: they may be there under other names. What is unmatched else is new or gone.
	Foreign int64
}

// TierShare is what was matched at one step.
type TierShare struct {
	Sites int
	Bytes int64
}

// Change is what happened to a row.
type Change string

// Changes.
const (
	ChangeNew   Change = "new"
	ChangeGone  Change = "gone"
	ChangeGrown Change = "grown"
	ChangeShrnk Change = "shrunk"
	ChangeChurn Change = "churned" // as much in use as before, and more was allocated
)

// DeltaRow is one group of sites.
type DeltaRow struct {
	Change        Change
	Base, Current heapfile.Counts
	// BaseBound and CurrentBound are the most that truncated snapshots may hide of a row beyond Base and Current: of its
	// sites that the other side has. math.MaxInt64 stands for any amount.
	BaseBound, CurrentBound heapfile.Counts
	// BaseSites and CurrentSites belong to the row, the one that changed most first.
	BaseSites, CurrentSites []symbolize.SiteID
	// Tier is the least sure step that matched any of the sites; Unmatched if none was.
	Tier identity.Tier
	// Noise is the standard deviation that sampling gives the difference of the bytes in use; 0 for exact snapshots.
	Noise float64
	// Moved: the function to blame, as a whole, hardly changed: what this row gained another of the same function lost.
	Moved bool
}

// Shown is the difference of what both sides show, after filters.
func (c *Comparison) Shown() heapfile.Counts { return c.Current.Shown().Sub(c.Base.Shown()) }

// HasAlloc says that both snapshots have cumulative counts, without which their difference means nothing.
func (c *Comparison) HasAlloc() bool { return c.Base.Head.HasAlloc && c.Current.Head.HasAlloc }

// Delta is current minus base.
func (r *DeltaRow) Delta() heapfile.Counts { return r.Current.Sub(r.Base) }

// Total is the difference of the snapshots' totals.
func (c *Comparison) Total() heapfile.Counts { return c.Current.Head.Heap().Sub(c.Base.Head.Heap()) }

// UnmatchedShare is the share of the bytes in use, of both sides, that no step matched.
func (c *Comparison) UnmatchedShare() float64 { return c.share(c.Tiers[identity.Unmatched].Bytes) }

// ForeignShare is the share that Foreign has.
func (c *Comparison) ForeignShare() float64 { return c.share(c.Foreign) }

func (c *Comparison) share(bytes int64) float64 {
	all := int64(0)
	for _, t := range c.Tiers {
		all += t.Bytes
	}
	return float64(bytes) / float64(max(all, 1))
}

// Compare finds what changed between two snapshots, of one process or of different ones.
func Snapshots(base, current *Side, o Options) *Comparison {
	c := &comparer{Comparison: Comparison{Base: base, Current: current, SameProcess: sameProcess(base, current)}, o: o, index: map[string]int{}}
	by := o.GroupBy
	if by == sites.ByStack {
		by = sites.ByFunction // each match is a row, and functions tell what moved
	}
	var named [2][]identity.Site
	if !c.SameProcess {
		c.same[0], c.same[1] = identity.SameFiles(base.Symbols, current.Symbols)
	}
	for i, side := range []*Side{base, current} {
		blamer := class.NewBlamer(side.Symbols, o.Rules)
		c.keys[i] = sites.NewGrouper(side.Symbols, blamer, by)
		namer := identity.NewNamer(side.Symbols, blamer)
		namer.SameProcess, namer.Same = c.SameProcess, c.same[i]
		for _, s := range side.sites {
			named[i] = append(named[i], namer.Site(side.Symbols.SiteStack(s)))
		}
	}
	pair := identity.Pair
	if c.SameProcess {
		pair = identity.PairPlaces
	}
	for _, m := range pair(named[0], named[1]) {
		c.add(m)
	}
	c.finish()
	return &c.Comparison
}

// sameProcess recognises one process image: by its PIDs where both are known, and by the places of its libraries, which address
// space randomisation moves at every start. (The program's own place may be fixed.)
func sameProcess(a, b *Side) bool {
	if a.Series == b.Series {
		return a.Head.Image == b.Head.Image
	}
	if a.Series.PID() != b.Series.PID() {
		return false
	}
	if a.unmapped() && b.unmapped() {
		return shareAddresses(a, b)
	}
	moving := libraries(a)
	for path, start := range libraries(b) {
		if moving[path] == start {
			return true
		}
	}
	return false
}

// unmapped says that a snapshot ends before its mappings.
func (s *Side) unmapped() bool {
	for _, space := range s.Series.Spaces {
		if space.Image == s.Head.Image && len(space.Mappings) > 0 {
			return false
		}
	}
	return true
}

// shareAddresses says whether one has half of the addresses of the other, or more: libraries of another process would stand elsewhere.
func shareAddresses(a, b *Side) bool {
	of := [2]map[heapfile.Addr]bool{{}, {}}
	for i, s := range []*Side{a, b} {
		for k := range s.Symbols.Locations {
			of[i][s.Symbols.Locations[k].Address] = true
		}
	}
	return identity.Alike(of[0], of[1])
}

// libraries are the places of the libraries of a snapshot's process image.
func libraries(s *Side) map[string]heapfile.Addr {
	out := map[string]heapfile.Addr{}
	for _, space := range s.Series.Spaces {
		for _, m := range space.Mappings {
			if space.Image == s.Head.Image && (strings.Contains(m.Path, ".so") || m.Path == "[vdso]") {
				out[m.Path] = m.Start
			}
		}
	}
	return out
}

type comparer struct {
	Comparison
	o     Options
	keys  [2]*sites.Grouper
	same  [2]map[symbolize.ModuleID]bool // files that both have
	index map[string]int                 // of group keys in rows
	rows  []DeltaRow
}

// add puts a match into its group: that of the current side, or of base if it is gone.
func (c *comparer) add(m identity.Match) {
	key := c.key(m)
	i, ok := c.index[key]
	if !ok {
		i = len(c.rows)
		c.index[key] = i
		c.rows = append(c.rows, DeltaRow{Tier: identity.Unmatched})
	}
	r := &c.rows[i]
	before := r.Base.InuseBytes + r.Current.InuseBytes
	r.BaseSites, r.Base = include(r.BaseSites, r.Base, c.Base, m.Base)
	r.CurrentSites, r.Current = include(r.CurrentSites, r.Current, c.Current, m.Current)
	if m.Tier != identity.Unmatched && (r.Tier == identity.Unmatched || m.Tier > r.Tier) {
		r.Tier = m.Tier
	}
	c.Tiers[m.Tier].Sites += len(m.Base) + len(m.Current)
	bytes := r.Base.InuseBytes + r.Current.InuseBytes - before
	c.Tiers[m.Tier].Bytes += bytes
	if m.Tier == identity.Unmatched && c.foreign(m) {
		c.Foreign += bytes
	}
	r.censor(m, c.Base.Head, c.Current.Head)
}

// foreign says whether the stack of a site that was not matched leads through a file that the other side does not have.
func (c *comparer) foreign(m identity.Match) bool {
	if c.SameProcess {
		return false
	}
	side, same, members := c.Current, c.same[1], m.Current
	if len(members) == 0 {
		side, same, members = c.Base, c.same[0], m.Base
	}
	return slices.ContainsFunc(side.Stack(side.sites[members[0]]), func(id symbolize.LocationID) bool {
		module := side.Symbols.Locations[id].Module
		return module == symbolize.NoModule || !same[module]
	})
}

// censor adds what a truncated snapshot may hide of a site that only the other one shows.
func (r *DeltaRow) censor(m identity.Match, base, current *series.Head) {
	if len(m.Base) == 0 {
		r.BaseBound = addBound(r.BaseBound, base)
	}
	if len(m.Current) == 0 {
		r.CurrentBound = addBound(r.CurrentBound, current)
	}
}

// addBound adds one more hidden site to a bound, which is never more than all that the snapshot hides.
func addBound(sum heapfile.Counts, s *series.Head) heapfile.Counts {
	one, all := s.Completeness.AbsentMax, s.Heap().Sub(s.Completeness.Estimate)
	add := func(sum, one, all int64) int64 {
		if one == math.MaxInt64 {
			return one
		}
		return min(sum+one, max(one, all))
	}
	return heapfile.Counts{
		InuseObjects: add(sum.InuseObjects, one.InuseObjects, all.InuseObjects), InuseBytes: add(sum.InuseBytes, one.InuseBytes, all.InuseBytes),
		AllocObjects: add(sum.AllocObjects, one.AllocObjects, all.AllocObjects), AllocBytes: add(sum.AllocBytes, one.AllocBytes, all.AllocBytes),
	}
}

func (c *comparer) key(m identity.Match) string {
	switch {
	case c.o.GroupBy == sites.ByStack:
		return fmt.Sprintf("#%d", len(c.rows)) // each match is a row
	case len(m.Current) > 0:
		return c.keys[1].Key(c.Current.sites[m.Current[0]])
	}
	return c.keys[0].Key(c.Base.sites[m.Base[0]])
}

func include(sites []symbolize.SiteID, sum heapfile.Counts, s *Side, members []int) ([]symbolize.SiteID, heapfile.Counts) {
	for _, i := range members {
		sites = append(sites, s.sites[i])
		sum = sum.Add(s.counts[i])
	}
	return sites, sum
}

// finish decides what changed, and ranks.
func (c *comparer) finish() {
	moves := c.movesByFunction()
	for i := range c.rows {
		r := &c.rows[i]
		if !c.HasAlloc() {
			r.dropAlloc()
		}
		if r.Delta() == (heapfile.Counts{}) {
			c.Unchanged++
			continue
		}
		r.Change = r.change()
		r.Noise = math.Hypot(growth.SamplingNoise(c.Base.Head, r.Base.InuseBytes), growth.SamplingNoise(c.Current.Head, r.Current.InuseBytes))
		r.Moved = moves[i]
		c.largestFirst(r)
		c.Rows = append(c.Rows, *r)
	}
	slices.SortStableFunc(c.Rows, func(a, b DeltaRow) int {
		x, y := a.Delta(), b.Delta()
		return cmp.Or(cmp.Compare(abs(y.InuseBytes), abs(x.InuseBytes)), cmp.Compare(abs(y.AllocBytes), abs(x.AllocBytes)))
	})
}

// dropAlloc forgets cumulative counts that only one side has.
func (r *DeltaRow) dropAlloc() {
	for _, n := range []*heapfile.Counts{&r.Base, &r.Current} {
		n.AllocObjects, n.AllocBytes = 0, 0
	}
}

func abs(v int64) int64 { return max(v, -v) }

func (r *DeltaRow) change() Change {
	d := r.Delta()
	switch {
	case len(r.BaseSites) == 0 && r.BaseBound == heapfile.Counts{}:
		return ChangeNew
	case len(r.CurrentSites) == 0 && r.CurrentBound == heapfile.Counts{}:
		return ChangeGone
	case d.InuseBytes > 0:
		return ChangeGrown
	case d.InuseBytes < 0:
		return ChangeShrnk
	}
	return ChangeChurn
}

// largestFirst orders a row's sites by their bytes in use.
func (c *comparer) largestFirst(r *DeltaRow) {
	c.Base.bySize(r.BaseSites)
	c.Current.bySize(r.CurrentSites)
}

func (s *Side) bySize(sites []symbolize.SiteID) {
	slices.SortStableFunc(sites, func(a, b symbolize.SiteID) int {
		return cmp.Compare(s.Counts(b).InuseBytes, s.Counts(a).InuseBytes)
	})
}

// Counts are those of a site; zero where it is absent.
func (s *Side) Counts(site symbolize.SiteID) heapfile.Counts {
	if i, ok := s.index[site]; ok {
		return s.counts[i]
	}
	return heapfile.Counts{}
}

// moveShare is how much of a row's change the whole function may have changed for the row to count as moved.
const moveShare = 0.2

// movesByFunction says of each row whether its function to blame hardly changed as a whole. Rows by
// function cannot tell.
func (c *comparer) movesByFunction() []bool {
	out := make([]bool, len(c.rows))
	if c.o.GroupBy != sites.ByStack {
		return out
	}
	whole := map[string]int64{}
	keys := make([]string, len(c.rows))
	for i := range c.rows {
		r := &c.rows[i]
		if len(r.CurrentSites) > 0 {
			keys[i] = c.keys[1].Key(r.CurrentSites[0])
		} else {
			keys[i] = c.keys[0].Key(r.BaseSites[0])
		}
		whole[keys[i]] += r.Delta().InuseBytes
	}
	for i := range c.rows {
		d := c.rows[i].Delta().InuseBytes
		out[i] = d != 0 && float64(abs(whole[keys[i]])) < moveShare*float64(abs(d))
	}
	return out
}
