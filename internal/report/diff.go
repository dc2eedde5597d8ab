package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Diff is the answer to "what changed between these two?".
type Diff struct {
	*compare.Comparison
	View
}

// Text writes the table for people.
func (d *Diff) Text(w io.Writer) error {
	p := &printer{w: w}
	side(p, "BASE   ", d.Base.Head, "")
	side(p, "CURRENT", d.Current.Head, since(d.Base.Head, d.Current.Head))
	d.totals(p)
	d.tiers(p)
	d.notes(p)
	views := d.viewers()
	if len(d.Rows) == 0 {
		p.linef("nothing changed in what the files show")
		d.rest(p, 0)
		return p.err
	}
	p.linef("")
	p.linef("%3s  %-7s %12s %9s %10s %10s %12s  %s", "#", "CHANGE", "Δ BYTES", "Δ OBJECTS", "BASE", "CURRENT", "Δ ALLOCATED", "SITE")
	shown := firstRows(d.Rows, d.Top)
	for i := range shown {
		d.row(p, i+1, &shown[i], views)
	}
	d.rest(p, len(shown))
	return p.err
}

// side is the line that labels one of the snapshots.
func side(p *printer, label string, s *series.Head, later string) {
	heap := s.Heap()
	line := fmt.Sprintf("%s  %s  %s in %s", label, clean(s.Path), Bytes(heap.InuseBytes), plural(int(heap.InuseObjects), "object"))
	if t := timeOf(s); !t.IsZero() {
		line += "  " + t.UTC().Format("2006-01-02 15:04:05")
	}
	p.linef("%s%s", line, later)
}

func timeOf(s *series.Head) time.Time {
	if !s.Recorded.IsZero() {
		return s.Recorded
	}
	return s.Modified
}

func since(base, current *series.Head) string {
	a, b := timeOf(base), timeOf(current)
	if a.IsZero() || b.IsZero() || a.Sub(b).Abs() < time.Second/2 {
		return ""
	}
	if b.Before(a) {
		return fmt.Sprintf(", %s BEFORE base", duration(a.Sub(b).Seconds()))
	}
	return fmt.Sprintf(", %s later", duration(b.Sub(a).Seconds()))
}

func (d *Diff) totals(p *printer) {
	total, base := d.Total(), d.Base.Head.Heap()
	line := fmt.Sprintf("in use   %s", signed(float64(total.InuseBytes)))
	if base.InuseBytes > 0 {
		line += fmt.Sprintf(" (%+.1f %%)", 100*float64(total.InuseBytes)/float64(base.InuseBytes))
	}
	line += fmt.Sprintf(", %+d objects", total.InuseObjects)
	switch {
	case !d.HasAlloc():
		line += " · no cumulative counts"
	case d.SameProcess && total.AllocBytes >= 0:
		line += fmt.Sprintf(" · allocated between them %s in %s", Bytes(total.AllocBytes), plural(int(total.AllocObjects), "object"))
	default:
		line += fmt.Sprintf(" · allocated by each since its start %s and %s", Bytes(base.AllocBytes), Bytes(d.Current.Head.Heap().AllocBytes))
	}
	p.linef("%s", line)
}

// notes say what a snapshot hides, and that it is an estimate.
func notes(p *printer, s *compare.Side, name string) {
	if h := s.Hidden(); h.InuseBytes != 0 {
		p.linef("hidden   %s of %s: the file does not show the sites", Bytes(h.InuseBytes), name)
	}
	if s.Head.IsEstimate() {
		p.linef("sampled  %s is an estimate, one sample per %s", name, Bytes(s.Head.Period))
	}
}

// notes say what the rows are only a part or an estimate of.
func (d *Diff) notes(p *printer) {
	if d.Current.Filter != nil {
		p.linef("filtered %s of it", signed(float64(d.Shown().InuseBytes)))
	}
	notes(p, d.Base, "base")
	notes(p, d.Current, "current")
}

// tiers says how sites were matched, where that is not a matter of course.
func (d *Diff) tiers(p *printer) {
	if d.SameProcess {
		return
	}
	var parts []string
	all := int64(0)
	for _, t := range d.Tiers {
		all += t.Bytes
	}
	for i, t := range d.Tiers {
		if t.Sites > 0 && all > 0 {
			parts = append(parts, fmt.Sprintf("%.0f %% %s", 100*float64(t.Bytes)/float64(all), tierTexts[identity.Tier(i)]))
		}
	}
	p.linef("matched  %s", strings.Join(parts, ", "))
	if d.ForeignShare() > 0.15 {
		p.linef("         more than 15 %% of the bytes match nothing on the other side: the two do not compare stack by stack; try --group-by module")
	}
}

func (d *Diff) viewers() [2]*viewer {
	return [2]*viewer{d.viewer(d.Base.Symbols), d.viewer(d.Current.Symbols)}
}

// of is the side on which a row can be described: the current one, unless it is gone.
func of(r *compare.DeltaRow, views [2]*viewer) (*viewer, []symbolize.SiteID) {
	if len(r.CurrentSites) > 0 {
		return views[1], r.CurrentSites
	}
	return views[0], r.BaseSites
}

func (d *Diff) row(p *printer, rank int, r *compare.DeltaRow, views [2]*viewer) {
	delta := r.Delta()
	v, sites := of(r, views)
	site, where := v.title(sites[0])
	allocated := "–"
	if d.HasAlloc() {
		allocated = bounded(r.BaseBound.AllocBytes, r.CurrentBound.AllocBytes, signed(float64(delta.AllocBytes)))
	}
	p.linef("%3d  %-7s %12s %9s %10s %10s %12s  %s  %s", rank, r.Change, noisy(r)+bounded(r.BaseBound.InuseBytes, r.CurrentBound.InuseBytes, signed(float64(delta.InuseBytes))),
		bounded(r.BaseBound.InuseObjects, r.CurrentBound.InuseObjects, fmt.Sprintf("%+d", delta.InuseObjects)), value(r.Base.InuseBytes, r.BaseBound.InuseBytes),
		value(r.Current.InuseBytes, r.CurrentBound.InuseBytes), allocated, site, where)
	if path := v.callPath(sites); path != "" {
		p.linef("     %s", path)
	}
	if r.Moved {
		p.linef("     moved: its function as a whole hardly changed")
	}
	if delta.InuseBytes > 0 {
		if text := adviceFor(v.symbols, v.stack(sites[0])); text != "" {
			p.linef("     → %s", text)
		}
	}
}

// bounded marks a difference that is a bound: it is at most this if base may hide some of it, at least this if current may.
func bounded(base, current int64, text string) string {
	switch {
	case base > 0 && current > 0:
		return "≈ " + text
	case base > 0:
		return "≤ " + text
	case current > 0:
		return "≥ " + text
	}
	return text
}

// noisy is "~ " before what sampling alone may have made.
func noisy(r *compare.DeltaRow) string {
	if math.Abs(float64(r.Delta().InuseBytes)) < 2*r.Noise {
		return "~ "
	}
	return ""
}

// value shows a number; where truncation may hide more, as the least that it is; where nothing is visible, as the most that it may be.
func value(n, bound int64) string {
	switch {
	case bound > 0 && n > 0:
		return "≥ " + Bytes(n)
	case bound == math.MaxInt64:
		return "hidden"
	case bound > 0:
		return "≤ " + Bytes(bound)
	}
	return Bytes(n)
}

// rest says what the table does not show, so that all adds up.
func (d *Diff) rest(p *printer, shown int) {
	var sum int64
	for i := range d.Rows[shown:] {
		delta := d.Rows[shown+i].Delta()
		sum += delta.InuseBytes
	}
	if n := len(d.Rows) - shown; n > 0 {
		p.linef("… and %s with %s: --top %d shows them", plural(n, "more site"), signed(float64(sum)), len(d.Rows))
	}
	if h := d.Current.Hidden().Sub(d.Base.Hidden()); h.InuseBytes != 0 {
		p.linef("… and %s that the files do not show", signed(float64(h.InuseBytes)))
	}
	if d.Unchanged > 0 {
		p.linef("%s did not change", plural(d.Unchanged, "site"))
	}
}

type diffJSON struct {
	Schema         string       `json:"schema"`
	Base           diffSide     `json:"base"`
	Current        diffSide     `json:"current"`
	SameProcess    bool         `json:"same_process"`
	HasAlloc       bool         `json:"has_alloc"`
	Delta          countsJSON   `json:"delta"`
	Filtered       bool         `json:"filtered"`
	Shown          countsJSON   `json:"shown"`
	Matched        []tierJSON   `json:"matched"`
	UnmatchedShare float64      `json:"unmatched_share"`
	Unchanged      int          `json:"unchanged"`
	Sites          []deltaEntry `json:"sites"`
}

type diffSide struct {
	Path      string     `json:"path"`
	Time      *time.Time `json:"time"`
	Total     countsJSON `json:"total"`
	Hidden    countsJSON `json:"hidden"`
	Truncated bool       `json:"truncated"`
}

type tierJSON struct {
	By         string `json:"by"`
	Sites      int    `json:"sites"`
	InuseBytes int64  `json:"inuse_bytes"`
}

type deltaEntry struct {
	Change        compare.Change `json:"change"`
	Delta         countsJSON     `json:"delta"`
	Base          countsJSON     `json:"base"`
	Current       countsJSON     `json:"current"`
	BaseAtMost    *countsJSON    `json:"base_at_most,omitempty"`
	CurrentAtMost *countsJSON    `json:"current_at_most,omitempty"`
	NoiseBytes    float64        `json:"noise_bytes"`
	MatchedBy     string         `json:"matched_by"`
	Moved         bool           `json:"moved"`
	Stacks        int            `json:"stacks"`
	Blame         blameJSON      `json:"blame"`
	Frames        []Frame        `json:"frames"`
	Advice        string         `json:"advice,omitempty"`
}

// JSON writes the result as heaplapse.diff/1, all rows.
func (d *Diff) JSON(w io.Writer) error {
	out := diffJSON{
		Schema: "heaplapse.diff/1", Base: sideJSON(d.Base), Current: sideJSON(d.Current), SameProcess: d.SameProcess,
		HasAlloc: d.HasAlloc(), Delta: countsJSON(d.Total()), Filtered: d.Current.Filter != nil, Shown: countsJSON(d.Shown()), Matched: []tierJSON{}, UnmatchedShare: d.UnmatchedShare(),
		Unchanged: d.Unchanged, Sites: []deltaEntry{},
	}
	for i, t := range d.Tiers {
		out.Matched = append(out.Matched, tierJSON{identity.Tier(i).String(), t.Sites, t.Bytes})
	}
	views := d.viewers()
	for i := range d.Rows {
		out.Sites = append(out.Sites, deltaJSON(&d.Rows[i], views))
	}
	return writeJSON(w, out)
}

func sideJSON(s *compare.Side) diffSide {
	out := diffSide{
		Path: s.Head.Path, Total: countsJSON(s.Head.Heap()), Hidden: countsJSON(s.Hidden()),
		Truncated: s.Head.Completeness.Truncated || s.Head.Completeness.Unfinished,
	}
	if t := timeOf(s.Head); !t.IsZero() {
		utc := t.UTC()
		out.Time = &utc
	}
	return out
}

func deltaJSON(r *compare.DeltaRow, views [2]*viewer) deltaEntry {
	v, sites := of(r, views)
	out := deltaEntry{
		Change: r.Change, Delta: countsJSON(r.Delta()), Base: countsJSON(r.Base), Current: countsJSON(r.Current),
		NoiseBytes: math.Round(r.Noise), MatchedBy: r.Tier.String(), Moved: r.Moved, Stacks: max(len(r.BaseSites), len(r.CurrentSites)),
		Blame: v.blame(sites[0]), Frames: frames(v.symbols, v.stack(sites[0])), Advice: adviceFor(v.symbols, v.stack(sites[0])),
	}
	if len(r.BaseSites) == 0 || len(r.CurrentSites) == 0 {
		out.MatchedBy = identity.Unmatched.String()
	}
	none := heapfile.Counts{}
	if r.BaseBound != none {
		out.BaseAtMost = atMost(r.Base, r.BaseBound)
	}
	if r.CurrentBound != none {
		out.CurrentAtMost = atMost(r.Current, r.CurrentBound)
	}
	return out
}

// atMost is what is visible and what may be hidden, together.
func atMost(c, bound heapfile.Counts) *countsJSON {
	add := func(n, bound int64) int64 {
		if bound > math.MaxInt64-max(n, 0) {
			return math.MaxInt64
		}
		return n + bound
	}
	j := countsJSON{
		InuseObjects: add(c.InuseObjects, bound.InuseObjects), InuseBytes: add(c.InuseBytes, bound.InuseBytes),
		AllocObjects: add(c.AllocObjects, bound.AllocObjects), AllocBytes: add(c.AllocBytes, bound.AllocBytes),
	}
	return &j
}
