package growth

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// GrowthOptions tune [Growth]. The zero value works.
type Options struct {
	// MinBytes is the least growth that is named; 0 takes 1 MiB.
	MinBytes int64
	// All keeps the stable sites.
	All bool
	// KeepStable keeps them apart, for whoever wants to know why one of them is not called a leak.
	KeepStable bool
	// Filter keeps some stacks; nil keeps all.
	Filter *symbolize.Filter
	// Rules decide which frame is to blame; nil takes the default ones.
	Rules *class.Rules
	// GroupBy decides which stacks are one site; "" takes [ByFunction].
	GroupBy sites.GroupBy
	// Suppressions are growth that is known; nil for none.
	Suppressions *suppress.List
	// From and To limit the snapshots that are judged: indices, To is exclusive; 0 is the end of the series.
	From, To int
}

// SeriesVerdict is the answer for the series as a whole.
type SeriesVerdict string

// The answers.
const (
	VerdictLeak      SeriesVerdict = "leak"
	VerdictNoLeak    SeriesVerdict = "no-leak"
	VerdictUndecided SeriesVerdict = "undecided"
)

// GrowthResult is what grows in a series.
type Result struct {
	Verdict SeriesVerdict
	// Why is what Verdict rests on.
	Why Reason
	// Leaks and Suspects are the numbers of sites with these labels.
	Leaks, Suspects int
	// Total is the trend of the whole heap; of what the filter keeps, and without what is suppressed. FirstHeap and LastHeap are
	// its size, in bytes.
	Total               trend.Verdict
	FirstHeap, LastHeap int64
	// RSS is the trend of the resident set, which holds what the heap does not: mmap, fragmentation, stacks. nil where it was
	// not recorded. FirstRSS and LastRSS are its values.
	RSS               *trend.Verdict
	FirstRSS, LastRSS int64
	// Beyond: the process grew by far more than its heap.
	Beyond bool
	// Explained is the share of the heap's growth that lies on sites called leaks, 0 to 1.
	Explained float64
	// Tested is the number of series that were judged. Of many, some rise by chance.
	Tested int
	// Range is the snapshots that were judged.
	sites.Range
	// Sites are ranked, worst first.
	Sites []Site
	// Stable are those about which there is nothing to say, ranked; only with KeepStable, and not with All.
	Stable []Site
	// Most is the site without a verdict that grew most, and by half of the heap's growth or more; nil for none.
	Most *Site
	// Kept is the number of sites that passed the filter.
	Kept int
	// Unlisted is the number of sites that grew by less than is judged, UnlistedBytes their growth.
	Unlisted      int
	UnlistedBytes int64
	// Suppressed are sites that a suppression names, with the growth that they had.
	Suppressed []Suppressed
	// Notes are facts about the result that a reader should know.
	Notes []Note
}

// Suppressed is the growth that one suppression took out of the result.
type Suppressed struct {
	*suppress.Entry
	Sites  int
	Gained int64
}

// GrowthSite is a group of stacks with one frame to blame.
type Site struct {
	trend.Verdict
	// Gained is the last visible value minus the first, within the judged snapshots.
	Gained int64
	// Members are its allocation sites, the one that grew most first.
	Members []symbolize.SiteID
	// Blame points into the first member's stack.
	Blame class.FrameRef
	// Bytes and Objects in use by snapshot; Visible is false where truncation hides them.
	Bytes, Objects []int64
	Visible        []bool
}

// Growth judges every site of a series, and every group of sites with the same
// frame to blame: many thin leaks under one caller rise above the noise
// only together. The collector must have visited the series.
func Judge(series *series.Series, symbols *symbolize.Symbols, c *sites.Collector, o Options) *Result {
	o.MinBytes = cmp.Or(o.MinBytes, trend.DefaultMinGrowth)
	g := &grower{series: series, symbols: symbols, o: o, blamer: class.NewBlamer(symbols, o.Rules), columns: c.Columns(series, symbols)}
	g.kept, g.suppressed = make([]int64, len(series.Heads)), make([]int64, len(series.Heads))
	g.result.Range = sites.JudgedRange(series, o.From, o.To)
	g.other = g.otherImage()
	g.doubts()
	g.crowd = g.medianRise()
	groups := g.groups()
	g.total()
	g.rss()
	for _, group := range groups {
		g.judgeGroup(group)
	}
	g.rank()
	g.conclude()
	return &g.result
}

type grower struct {
	series  *series.Series
	symbols *symbolize.Symbols
	o       Options
	blamer  *class.Blamer
	columns []sites.Column // by SiteID
	gained  int64          // by the whole heap
	// kept and suppressed are what is visible of the sites that the filter keeps, and of those that are suppressed, by snapshot.
	kept, suppressed []int64
	crowd            float64 // see medianRise
	// highWater: the snapshots were taken at record highs.
	highWater bool
	other     *extent // another process image of the series
	result    Result
}

func (g *grower) note(n Note) { g.result.Notes = append(g.result.Notes, n) }

// doubts notes what of the input makes verdicts less sure.
func (g *grower) doubts() {
	highWater := 0
	for i := g.result.First; i <= g.result.Last && i < len(g.series.Triggers); i++ {
		if g.series.Triggers[i] == series.TriggerHighWater {
			highWater++
		}
	}
	g.highWater = 2*highWater > g.result.Len()
	if n := g.result.Len(); n >= trend.MinPoints && n < GoodPoints {
		g.note(Note{Kind: NoteFewSnapshots, Snapshots: n})
	}
	if !g.hasAlloc() {
		g.note(Note{Kind: NoteNoAlloc})
	}
}

// leastCrowd is the least size of a site, in bytes, that tells of the load: a handful of objects says nothing.
const leastCrowd = 4 << 10

// medianRise is the median of what the sites that move at all rose by. A load that rises
// moves many sites at once, a leak one.
func (g *grower) medianRise() float64 {
	var rises []float64
	for site := range g.columns {
		live, moves := g.visible(g.columns[site])
		if moves && live[0] >= leastCrowd {
			rises = append(rises, trend.Rise(live))
		}
	}
	if len(rises) == 0 {
		return 0
	}
	slices.Sort(rises)
	return rises[len(rises)/2]
}

// visible are the values of a column within the judged range, and whether they differ.
func (g *grower) visible(c sites.Column) (live []float64, moves bool) {
	for i := g.result.First; i <= g.result.Last; i++ {
		if c.Bytes[i] != sites.Hidden {
			live = append(live, float64(c.Bytes[i]))
			moves = moves || live[0] != live[len(live)-1]
		}
	}
	return live, moves
}

func (g *grower) hasAlloc() bool {
	for _, h := range g.series.Heads[g.result.First : g.result.Last+1] {
		if !h.HasAlloc {
			return false
		}
	}
	return true
}

// total judges the heap as a whole: without what is suppressed, and only what a filter keeps.
func (g *grower) total() {
	r := &g.result
	p := trend.Points{Dominates: true}
	for i := r.First; i <= r.Last; i++ {
		p.T = append(p.T, g.series.Clock.At[i])
		p.Live = append(p.Live, float64(g.heap(i)))
	}
	r.FirstHeap, r.LastHeap = g.heap(r.First), g.heap(r.Last)
	g.gained = r.LastHeap - r.FirstHeap
	p.HighWater = g.highWater
	r.Total = trend.Judge(p, g.trendOptions())
}

// heap is the size of the heap that is judged.
func (g *grower) heap(i int) int64 {
	if g.o.Filter != nil {
		return g.kept[i]
	}
	return g.series.Heads[i].Heap().InuseBytes - g.suppressed[i]
}

// addVisible adds what is visible of a column.
func addVisible(sum []int64, c sites.Column) {
	for i, b := range c.Bytes {
		if b != sites.Hidden {
			sum[i] += b
		}
	}
}

// rss judges the resident set where it was recorded.
func (g *grower) rss() {
	var p trend.Points
	for i := g.result.First; i <= g.result.Last && i < len(g.series.RSS); i++ {
		if v := g.series.RSS[i]; v != nil {
			p.T = append(p.T, g.series.Clock.At[i])
			p.Live = append(p.Live, float64(*v))
		}
	}
	if len(p.T) == 0 {
		return
	}
	r := &g.result
	v := trend.Judge(p, g.trendOptions())
	r.RSS, r.FirstRSS, r.LastRSS = &v, int64(p.Live[0]), int64(p.Live[len(p.Live)-1])
	if grown := r.LastRSS - r.FirstRSS; grown-g.gained > max(leastBeyond, g.gained) && grown > leastBeyond {
		r.Beyond = true
		g.note(Note{Kind: NoteProcessGrows, Bytes: grown - g.gained})
	}
}

// leastBeyond is the least growth of the resident set beyond the heap's, in bytes, that is worth a note.
const leastBeyond = 4 << 20

func (g *grower) trendOptions() trend.Options {
	return trend.Options{MinGrowth: float64(g.o.MinBytes)}
}

// groups puts sites together as the options say, by default those whose blame frames are the same function. Groups
// and members are in order of first appearance.
func (g *grower) groups() [][]symbolize.SiteID {
	var out [][]symbolize.SiteID
	index := map[string]int{}
	grouper := sites.NewGrouper(g.symbols, g.blamer, g.o.GroupBy)
	suppressor := sites.NewSuppressor(g.symbols, g.o.Suppressions)
	for i := range g.columns {
		site := symbolize.SiteID(i)
		if !g.o.Filter.Keep(g.symbols.SiteStack(site)) {
			continue
		}
		g.result.Kept++
		if e := suppressor.Entry(site); e != nil {
			g.suppress(e, site)
			addVisible(g.suppressed, g.columns[site])
			continue
		}
		addVisible(g.kept, g.columns[site])
		key := grouper.Key(site)
		n, ok := index[key]
		if !ok {
			n = len(out)
			index[key] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], site)
	}
	return out
}

func (g *grower) suppress(e *suppress.Entry, site symbolize.SiteID) {
	list := &g.result.Suppressed
	i := slices.IndexFunc(*list, func(s Suppressed) bool { return s.Entry == e })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Suppressed{Entry: e})
	}
	first, last := g.ends(g.columns[site])
	(*list)[i].Sites++
	(*list)[i].Gained += last - first
}

// judgeGroup judges a group, and its members if the group does not leak: one of them may, in
// the shadow of others. If what the others lose equals it, then the allocations only moved from one caller to another; and one that
// is but a share of the others knows nothing that the group does not.
func (g *grower) judgeGroup(members []symbolize.SiteID) {
	whole := g.judgeSites(members)
	if whole.Label.IsLeak() || len(members) == 1 {
		g.keep(whole)
		return
	}
	var leaks []Site
	lost := 0.0
	for _, m := range members {
		s := g.judgeSites([]symbolize.SiteID{m})
		if s.Label.IsLeak() {
			leaks = append(leaks, s)
		}
		lost += max(0, -s.Growth)
	}
	kept := map[symbolize.SiteID]bool{}
	for _, s := range leaks {
		if lost < 0.5*s.Growth && !s.shareOf(&whole) {
			g.keep(s)
			kept[s.Members[0]] = true
		}
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m symbolize.SiteID) bool { return kept[m] })
	if len(members) < len(whole.Members) {
		if len(members) == 0 {
			return
		}
		whole = g.judgeSites(members)
	}
	g.keep(whole)
}

// sameCurve is the share of a series' variation that another must explain for both to be one curve.
const sameCurve = 0.97

// shareOf says whether the bytes of a site follow those of the rest of its group.
func (s *Site) shareOf(group *Site) bool {
	var own, rest []float64
	for i, visible := range group.Visible {
		if visible && s.Visible[i] {
			own = append(own, float64(s.Bytes[i]))
			rest = append(rest, float64(group.Bytes[i]-s.Bytes[i]))
		}
	}
	return stats.Explained(own, rest) >= sameCurve
}

// keep lists a site, unless there is nothing to say about it.
func (g *grower) keep(s Site) {
	if dull := g.dull(s); !dull || g.o.All {
		g.result.Sites = append(g.result.Sites, s)
		return
	}
	if s.Gained >= g.o.MinBytes && 2*s.Gained > g.gained && (g.result.Most == nil || s.Gained > g.result.Most.Gained) {
		g.result.Most = &s
	}
	if g.o.KeepStable {
		g.result.Stable = append(g.result.Stable, s)
	}
	if s.Gained > 0 && s.Gained < g.o.MinBytes {
		g.result.Unlisted++
		g.result.UnlistedBytes += s.Gained
	}
}

// dull says that there is nothing to say about a site.
func (g *grower) dull(s Site) bool {
	return s.Label == trend.Stable || (s.Label == trend.Insufficient && !g.notable(s))
}

// notable says whether a site with too few points is still worth showing.
func (g *grower) notable(s Site) bool {
	return s.Gained >= g.o.MinBytes
}

// ends are the first and last visible values among the judged snapshots.
func (g *grower) ends(c sites.Column) (first, last int64) {
	seen := false
	for i := g.result.First; i <= g.result.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		if !seen {
			first, seen = c.Bytes[i], true
		}
		last = c.Bytes[i]
	}
	return first, last
}

// judgeSites judges the sum of some sites.
func (g *grower) judgeSites(ids []symbolize.SiteID) Site {
	g.result.Tested++
	n := len(g.series.Heads)
	col := g.columns[ids[0]]
	if len(ids) > 1 {
		members := make([]sites.Column, len(ids))
		for i, s := range ids {
			members[i] = g.columns[s]
		}
		col = sites.Sum(members, n)
	}
	s := Site{Bytes: make([]int64, n), Objects: make([]int64, n), Visible: make([]bool, n)}
	for i := range n {
		if col.Bytes[i] != sites.Hidden {
			s.Bytes[i], s.Objects[i], s.Visible[i] = col.Bytes[i], col.Objects[i], true
		}
	}
	first, last := g.ends(col)
	s.Gained = last - first
	p := g.points(col)
	p.Dominates = 2*s.Gained > g.gained
	s.Verdict = trend.Judge(p, g.trendOptions())
	s.Members = g.byGrowth(ids)
	s.Blame, _ = g.blamer.Blame(g.symbols.Stack(g.symbols.SiteStack(s.Members[0])))
	return s
}

// points are the visible moments of a column within the judged range.
func (g *grower) points(c sites.Column) trend.Points {
	var p trend.Points
	alloc := g.hasAlloc()
	for i := g.result.First; i <= g.result.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		p.T = append(p.T, g.series.Clock.At[i])
		p.Live = append(p.Live, float64(c.Bytes[i]))
		p.Objects = append(p.Objects, float64(c.Objects[i]))
		if alloc = alloc && c.Alloc[i] != sites.Hidden; alloc {
			p.Alloc = append(p.Alloc, float64(c.Alloc[i]))
		}
	}
	if !alloc {
		p.Alloc = nil
	}
	p.HighWater, p.MedianRise = g.highWater, g.crowd
	if head := g.series.Heads[g.result.First]; head.IsEstimate() {
		p.Period = float64(head.Period)
	}
	p.OtherImage = g.elsewhere(c)
	return p
}

// leastElsewhere is the least number of points in another process image that says something.
const leastElsewhere = 3

// elsewhere is a column in the other process image with most snapshots: what leaks leaks again after a restart.
func (g *grower) elsewhere(c sites.Column) *trend.Points {
	if g.other == nil {
		return nil
	}
	p := &trend.Points{}
	for i := g.other.first; i <= g.other.last; i++ {
		if c.Bytes[i] != sites.Hidden {
			p.T = append(p.T, g.series.Clock.At[i])
			p.Live = append(p.Live, float64(c.Bytes[i]))
		}
	}
	if len(p.T) < leastElsewhere {
		return nil
	}
	return p
}

// otherImage is the longest process image but the one that is judged.
func (g *grower) otherImage() *extent {
	heads := g.series.Heads
	var best *extent
	for begin, end := range g.series.Images(0, len(heads)) {
		if heads[begin].Image != heads[g.result.First].Image && (best == nil || end-begin > best.last-best.first) {
			best = &extent{begin, end}
		}
	}
	if best != nil && g.series.AtExit(best.first, best.last) {
		best.last--
	}
	return best
}

// extent is a range of snapshots, both ends included.
type extent struct{ first, last int }

// samplingNoise is the standard deviation of an estimate L made of samples, one
// per R bytes: √(2·R·L). 0 for a snapshot that records every allocation.
func SamplingNoise(head *series.Head, bytes int64) float64 {
	if !head.IsEstimate() {
		return 0
	}
	return math.Sqrt(2 * float64(head.Period) * max(0, float64(bytes)))
}

// byGrowth orders sites by how much they grew, the most first.
func (g *grower) byGrowth(ids []symbolize.SiteID) []symbolize.SiteID {
	if len(ids) == 1 {
		return ids
	}
	grew := make(map[symbolize.SiteID]int64, len(ids))
	for _, s := range ids {
		first, last := g.ends(g.columns[s])
		grew[s] = last - first
	}
	out := slices.Clone(ids)
	slices.SortStableFunc(out, func(a, b symbolize.SiteID) int { return cmp.Compare(grew[b], grew[a]) })
	return out
}

// rank orders by label, then by the lower end of the slope's interval, weighed with how sure the leak is.
func (g *grower) rank() {
	order := func(s Site) int {
		if s.Label == trend.LeakLate {
			return int(trend.Leak)
		}
		return int(s.Label)
	}
	for _, sites := range [][]Site{g.result.Sites, g.result.Stable} {
		slices.SortStableFunc(sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(b.Low*b.Confidence, a.Low*a.Confidence), cmp.Compare(b.Growth, a.Growth))
		})
	}
}

// conclude answers for the series.
func (g *grower) conclude() {
	r := &g.result
	var onLeaks float64
	for _, s := range r.Sites {
		switch {
		case s.Label.IsLeak():
			r.Leaks++
			onLeaks += float64(s.Gained)
		case s.Label == trend.Suspect:
			r.Suspects++
		}
	}
	if g.gained > 0 {
		r.Explained = max(0, min(1, onLeaks/float64(g.gained)))
	}
	switch {
	case r.Leaks > 0:
		r.Verdict, r.Why = VerdictLeak, SitesLeak
	case r.Len() < trend.MinPoints:
		r.Verdict, r.Why = VerdictUndecided, TooFewSnapshots
	case r.Suspects > 0:
		r.Verdict, r.Why = VerdictUndecided, SitesSuspect
	case r.Total.Label.IsLeak():
		r.Verdict, r.Why = VerdictUndecided, OnlyHeapGrows
	case r.Beyond:
		r.Verdict, r.Why = VerdictNoLeak, OnlyProcessGrows
	default:
		r.Verdict, r.Why = VerdictNoLeak, NothingGrows
	}
}
