package page

import (
	"cmp"
	"path"
	"slices"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/source"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options are the input of [Build].
type Options struct {
	// Growth is the judged series. It must contain stable sites, too (All in the options of
	// growth.Judge).
	Growth *growthreport.Report
	// Tool is the name and version of the producer, such as "heaplapse 1.0".
	Tool string
	// Moments is the largest number of snapshots that are shown; 0 means [DefaultMoments].
	Moments int
	// Processes is the number of processes that share the page; 0 means 1.
	Processes int
	// Sources has the source files whose lines may be shown; nil if none are.
	Sources *source.Dir
	// Progress, if not nil, is called with the number of snapshots read so far and the number to
	// read.
	Progress func(done, all int)
}

// Limits of a page.
const (
	// maxValues is the largest number of values: 4,000 leaves of four kinds at 240 moments.
	maxValues = 4_000_000
	// maxPacked is the largest size of the compressed data, in bytes. With base64 and the script
	// the page has 8 MB.
	maxPacked = 5_700_000
	// maxSites is the largest number of rows in the table.
	maxSites = 1000
	// maxPaths is the number of call paths of a site that are listed with their lines.
	maxPaths = 8
	// maxSources is the largest number of sites of a process whose source is shown.
	maxSources = 50
)

// Build reads the snapshots that are shown and makes the model. It fails if a file changed since
// the series was opened.
func Build(o Options) (*Model, error) {
	g := o.Growth
	b := &builder{o: o, g: g, moments: chooseMoments(g.Series, g.Result, cmp.Or(o.Moments, DefaultMoments))}
	b.code = newCode()
	b.paths = newPather(g.Symbols, g.Rules, b.code)
	b.hasAlloc()
	b.chooseSites()
	if err := b.collect(); err != nil {
		return nil, err
	}
	return b.fitting()
}

type builder struct {
	o       Options
	g       *growthreport.Report
	moments []int
	kinds   int // 4, or 2 without cumulative counts
	code    *code
	paths   *pather
	c       *collector
	totals  columns
	// shown are the sites of the result that have a row of their own. Further rows are for groups.
	shown                       []int
	other, suppressed, unlisted int
	folded                      int // sites without a row of their own
	extra                       []Site
}

func (b *builder) hasAlloc() {
	b.kinds = len(Kinds)
	for _, h := range b.g.Series.Heads {
		if !h.HasAlloc {
			b.kinds = 2
		}
	}
}

// chooseSites selects the sites that have a row of their own.
func (b *builder) chooseSites() {
	order := ranked(b.g.Result.Sites)
	b.folded = max(0, len(order)-maxSites)
	b.shown = order[:len(order)-b.folded]
}

// ranked orders sites as growth does, and stable ones, which growth does not rank, by their peaks.
func ranked(sites []growth.Site) []int {
	peaks := make([]int64, len(sites))
	for i := range sites {
		if sites[i].Label >= verdict.Stable {
			peaks[i] = slices.Max(sites[i].Bytes)
		}
	}
	quiet := func(i int) int { return cmp.Compare(min(sites[i].Label, verdict.Stable), verdict.Stable) }
	order := upTo(len(sites))
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(quiet(x), quiet(y)), cmp.Compare(peaks[y], peaks[x]))
	})
	return order
}

// collect reads the snapshots.
func (b *builder) collect() error {
	s := b.g.Series
	b.c = &collector{
		symbols: b.g.Symbols, moments: len(b.moments), paths: b.paths, siteOf: b.rows(),
		grid:   newGrid(b.code.function("heap", "")),
		leafOf: make([]int, s.Stacks.Len()),
		first:  make([]int64, b.g.Symbols.Sites()), last: make([]int64, b.g.Symbols.Sites()),
	}
	for moment, index := range b.moments {
		b.head(moment, s.Heads[index])
		snap, err := s.Read(index)
		if err != nil {
			return err
		}
		b.c.visit(moment, snap, [2]int{b.g.Result.First, b.g.Result.Last})
		if b.o.Progress != nil {
			b.o.Progress(moment+1, len(b.moments))
		}
	}
	return nil
}

// rows maps sites to rows of the table, or to -1 if a filter leaves them out.
func (b *builder) rows() []int {
	of := make([]int, b.g.Symbols.Sites())
	for i := range of {
		of[i] = -1
	}
	for _, s := range b.g.Result.Sites {
		for _, m := range s.Members {
			of[m] = b.otherRow()
		}
	}
	for row, i := range b.shown {
		for _, m := range b.g.Result.Sites[i].Members {
			of[m] = row
		}
	}
	for i := range of {
		if of[i] < 0 && b.g.Filter.Keep(b.g.Symbols.SiteStack(symbolize.SiteID(i))) {
			of[i] = b.suppressedRow()
		}
	}
	return of
}

func (b *builder) otherRow() int {
	if b.folded == 0 {
		return -1
	}
	return b.extraRow(&b.other, Site{Label: "other", Title: "smaller sites, together"})
}

func (b *builder) suppressedRow() int {
	return b.extraRow(&b.suppressed, Site{Label: "suppressed", Title: "known growth, suppressed"})
}

func (b *builder) unlistedRow() int {
	return b.extraRow(&b.unlisted, Site{Label: "unlisted", Title: "not listed in truncated snapshots"})
}

// extraRow returns the index of a row after those of the sites, and adds it on first use. at is its
// number, from 1; 0 for none yet.
func (b *builder) extraRow(at *int, s Site) int {
	if *at == 0 {
		s.Function, s.Meaning, s.Paths = s.Title, text.Sentences(s.Title), []Path{}
		b.extra = append(b.extra, s)
		*at = len(b.shown) + len(b.extra)
	}
	return *at - 1
}

// head adds the totals of a snapshot, and the part of them that its rows do not list.
func (b *builder) head(moment int, h *series.Head) {
	b.totals.add(moment, len(b.moments), values(h.Heap()))
	missing := values(h.Heap().Sub(h.Completeness.Estimate))
	if b.g.Filter != nil || missing == [4]int64{} {
		return
	}
	leaf := b.c.grid.leaf([]int{b.code.function("(not listed: the snapshot is truncated)", "")}, b.unlistedRow())
	b.c.grid.leaves[leaf].add(moment, len(b.moments), missing)
}

// fitting makes the model with as many call paths as the limits allow.
func (b *builder) fitting() (*Model, error) {
	share := min(max(b.o.Processes, 1), MaxProcesses)
	return fit(maxValues/(share*b.kinds*len(b.moments)), maxPacked/share, b.model)
}

// fit reduces the number of call paths until the packed model is small enough.
func fit(keep, size int, model func(keep int) *Model) (*Model, error) {
	for {
		m := model(keep)
		var err error
		if m.packed, err = m.pack(); err != nil {
			return nil, err
		}
		if len(m.packed) <= size || keep <= 1 {
			return m, nil
		}
		// Most of the size is values. Reduce a little more than in proportion, so that the next try
		// fits.
		keep = int(float64(keep) * 0.95 * float64(size) / float64(len(m.packed)))
	}
}

func (b *builder) model(keep int) *Model {
	g := b.g
	grid, folded := b.c.grid.fold(keep, &b.totals, b.code.function(smaller, ""))
	folded.Sites = b.folded
	unit, factor := g.RateUnit()
	m := &Model{
		Schema: "heaplapse.report/1", Tool: b.o.Tool, Title: text.SeriesName(g.Series),
		Next: g.Next(), Summary: g.Summary(), Limit: g.Limit(), Causes: b.causes(),
		Resident: g.Resident, smallHeap: g.ShowsResident(),
		Heap: Ends{g.Result.FirstHeap, g.Result.LastHeap}, RSS: b.rss(),
		Rate: text.Finite(g.Result.Total.Slope * factor), Explained: text.Finite(g.Result.Explained),
		Span:      g.Span(),
		Snapshots: len(g.Series.Heads), Moments: b.momentList(), Clock: g.Series.Clock.Source.String(), RatePer: unit,
		AgeEnds: b.ageEnds(), Judged: [2]int{b.position(g.Result.First), b.position(g.Result.Last)},
		Kinds: Kinds[:b.kinds], Filtered: b.g.Filter != nil, Folded: folded,
		Verdict: string(g.Result.Verdict), Headline: g.Finding(), Meaning: g.Meaning(),
		Processes: g.ProcessesJSON(), rows: g.ProcessRows(),
		Notes: append([]string{}, g.Notes(false)...), notes: g.Notes(true), Warnings: g.Warnings(),
		process: text.Clean(g.Series.Process.Name()), id: growthreport.ProcessID(&g.Series.Process),
	}
	for _, i := range b.shown {
		m.Sites = append(m.Sites, b.site(i))
		if len(m.Sites) <= maxSources {
			b.addSource(&m.Sites[len(m.Sites)-1], &g.Result.Sites[i])
		}
	}
	m.Sites = append(append([]Site{}, m.Sites...), b.extra...)
	m.lay(b.code, grid)
	return m
}

func (b *builder) ageEnds() (out []AgeEnd) {
	if b.g.Ages == nil {
		return nil
	}
	for _, i := range b.g.Ages.Ends {
		out = append(out, AgeEnd{i + 1, b.g.Series.Clock.At[i]})
	}
	return out
}

func (b *builder) rss() *Ends {
	r := b.g.Result
	if r.RSS == nil {
		return nil
	}
	return &Ends{r.FirstRSS, r.LastRSS}
}

// position is the moment of a snapshot, or the last moment before it.
func (b *builder) position(snapshot int) int {
	i, found := slices.BinarySearch(b.moments, snapshot)
	if !found {
		i--
	}
	return max(i, 0)
}

func (b *builder) momentList() []Moment {
	s := b.g.Series
	out := make([]Moment, 0, len(b.moments))
	for _, i := range b.moments {
		h := s.Heads[i]
		heap := h.Heap()
		m := Moment{
			Snapshot: i + 1, File: text.Clean(path.Base(h.Path)), At: s.Clock.At[i], Image: h.Image,
			InuseBytes: heap.InuseBytes, InuseObjects: heap.InuseObjects,
			Cut: h.Completeness.Truncated, AbsentMax: h.Completeness.AbsentMax.InuseBytes,
		}
		if b.kinds == len(Kinds) {
			m.AllocBytes, m.AllocObjects = heap.AllocBytes, heap.AllocObjects
		}
		if i < len(s.Triggers) {
			m.Trigger = s.Triggers[i].String()
		}
		if s.Clock.Source.IsTime() {
			t := s.Clock.Times[i].UTC()
			m.Time = &t
		}
		if s.RSS != nil {
			m.RSSBytes = s.RSS[i]
		}
		out = append(out, m)
	}
	return out
}

func (b *builder) causes() []Cause {
	out := []Cause{}
	for i := range b.g.Result.Causes {
		c := &b.g.Result.Causes[i]
		v := b.g.DescribeCause(c)
		out = append(out, Cause{Title: v.Title(), Where: v.Where, Explains: growthreport.CauseShare(c)})
	}
	return out
}

func (b *builder) site(i int) Site {
	s := &b.g.Result.Sites[i]
	v := b.g.Describe(s)
	_, factor := b.g.RateUnit()
	low, high := s.Interval()
	held := b.g.Holders.Of(s.Members).Held
	out := Site{
		Label: s.Label.String(), Verdict: growthreport.LabelText(s.Label, s.Confidence),
		Confidence: text.Finite(s.Confidence), Title: v.Title(), Where: v.Where,
		Function: text.Clip(v.Blame.Function, maxName), Module: text.Clean(v.Blame.Module),
		File: text.Clean(v.Blame.File), Line: v.Blame.Line,
		Callers: v.CallPath(0), Advice: b.g.Advice(s, v), Losses: b.g.SiteLosses(s),
		Holder: holders.Line(held), Holders: holders.Lines(held), Looked: held.Looked, Ways: holders.Ways(held),
		Unnamed: text.Join("; ", v.Unnamed, v.Blame.Remedy), Resizing: s.Resizing,
		Meaning: growthreport.Meaning(s), key: v.Keys.Site, label: s.Label,
		Growth: s.Gained, Now: b.g.Now(s), Stacks: len(s.Members), Paths: []Path{},
		Rate: text.Finite(s.Slope * factor), RateLow: text.Finite(low * factor),
		RateHigh: text.Finite(high * factor),
	}
	if _, known := b.g.Ages.Old(s.Members); known {
		out.Ages = b.g.Ages.Of(s.Members)
	}
	for moment, index := range b.moments {
		if !s.Visible[index] {
			out.Hidden = append(out.Hidden, moment)
		}
	}
	for _, member := range s.Members[:min(maxPaths, len(s.Members))] {
		frames, blame := b.paths.path(b.g.Symbols.Stack(b.g.Symbols.SiteStack(member)))
		out.Paths = append(out.Paths, Path{Frames: append([]int{}, frames...), Blame: blame,
			Growth: b.c.last[member] - b.c.first[member], Now: b.c.last[member]})
	}
	return out
}
