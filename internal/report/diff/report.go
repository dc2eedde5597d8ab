package diff

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Report is what changed between two snapshots.
type Report struct {
	*compare.Comparison
	siteview.Options
}

// Text writes the report for a terminal.
func (d *Report) Text(w io.Writer) error {
	p := &text.Printer{W: w, Links: siteview.Links(d.Style, d.Base.Symbols, d.Current.Symbols)}
	side(p, "BASE   ", d.Base.Head, "")
	side(p, "CURRENT", d.Current.Head, since(d.Base.Head, d.Current.Head))
	d.totals(p)
	if limit := d.Current.Series.Limit(); !limit.IsZero() {
		p.Linef("only what was allocated before %s UTC counts, in both", limit.UTC().Format(time.DateTime))
	}
	d.tiers(p)
	if base, current := d.Base.Series.Method(), d.Current.Series.Method(); base != current && base != "" && current != "" {
		p.Linef("recorded %s", text.OtherMethod("base", base, "current", current))
	}
	d.notes(p)
	sides := d.describers()
	if len(d.Rows) == 0 {
		p.Linef("no listed site changed")
		d.rest(p, 0)
		return p.Err
	}
	p.Linef("")
	columns := d.columns()
	p.Linef("%s", d.Style.Head(text.WithTitle(columns.Head(), "SITE", d.Width)))
	shown := text.FirstRows(d.Rows, d.Top)
	for i := range shown {
		d.row(p, i+1, &shown[i], sides)
	}
	d.rest(p, len(shown))
	return p.Err
}

// side is the line about one of the snapshots.
func side(p *text.Printer, label string, s *series.Head, later string) {
	heap := s.Heap()
	line := fmt.Sprintf("%s  %s  %s", label, text.Clean(s.Path), units.Bytes(heap.InuseBytes))
	if !s.NoObjects {
		line += " in " + units.Count(int(heap.InuseObjects), noun(s))
	}
	if t := timeOf(s); !t.IsZero() {
		line += "  " + t.UTC().Format("2006-01-02 15:04:05")
	}
	p.Linef("%s%s", line, later)
}

// noun is what a snapshot counts.
func noun(s *series.Head) string {
	if s.Format == heapfile.FormatGoroutines {
		return "goroutine"
	}
	return "object"
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
		return fmt.Sprintf(", %s BEFORE base", units.Duration(a.Sub(b).Seconds()))
	}
	return fmt.Sprintf(", %s later", units.Duration(b.Sub(a).Seconds()))
}

func (d *Report) totals(p *text.Printer) {
	total, base := d.Total(), d.Base.Head.Heap()
	line := fmt.Sprintf("in use   %s", units.SignedBytes(total.InuseBytes))
	if base.InuseBytes > 0 {
		line += fmt.Sprintf(" (%+.1f %%)", 100*float64(total.InuseBytes)/float64(base.InuseBytes))
	}
	if !d.Base.Head.NoObjects && !d.Current.Head.NoObjects {
		line += fmt.Sprintf(", %+d %ss", total.InuseObjects, noun(d.Base.Head))
	}
	switch {
	case !d.HasAlloc():
		line += " · no cumulative counts"
	case d.SameProcess && total.AllocBytes >= 0:
		line += fmt.Sprintf(" · allocated between them %s in %s", units.Bytes(total.AllocBytes),
			units.Count(int(total.AllocObjects), "object"))
	default:
		line += fmt.Sprintf(" · allocated by each since its start %s and %s", units.Bytes(base.AllocBytes),
			units.Bytes(d.Current.Head.Heap().AllocBytes))
	}
	p.Linef("%s", line)
}

// notes are the bytes of a snapshot that its file does not list, and whether it is an estimate.
func notes(p *text.Printer, s *compare.Side, name string) {
	if h := s.Hidden(); h.InuseBytes != 0 {
		p.Linef("hidden   %s of %s: the file does not list the sites", units.Bytes(h.InuseBytes), name)
	}
	if s.Head.IsEstimate() {
		p.Linef("sampled  %s is an estimate, one sample per %s", name, units.Bytes(s.Head.Period))
	}
}

// notes are the limits of what the rows show.
func (d *Report) notes(p *text.Printer) {
	if d.Current.Filter != nil {
		p.Linef("filtered %s of that", units.SignedBytes(float64(d.Shown().InuseBytes)))
	}
	notes(p, d.Base, "base")
	notes(p, d.Current, "current")
}

// tiers is how sites were matched; it is left out within one process, where stacks match exactly.
func (d *Report) tiers(p *text.Printer) {
	if d.SameProcess {
		return
	}
	var parts []string
	all := d.Tiers.Bytes()
	for i, t := range d.Tiers {
		if t.Sites > 0 && all > 0 {
			parts = append(parts, fmt.Sprintf("%.0f %% %s", 100*t.Bytes/all, siteview.TierTexts[identity.Tier(i)]))
		}
	}
	p.Linef("matched  %s", strings.Join(parts, ", "))
	if d.ForeignShare() > 0.15 {
		p.Linef(
			"         more than 15 %% of the bytes have no match in the other snapshot: the call paths are not comparable; try %s module",
			option.GroupBy,
		)
	}
}

// describers are those of base and current.
func (d *Report) describers() [2]*siteview.Describer {
	sides := [2]*siteview.Describer{siteview.NewDescriber(d.Base.Symbols, d.Options),
		siteview.NewDescriber(d.Current.Symbols, d.Options)}
	shown := map[*siteview.Describer][]symbolize.SiteID{}
	for _, r := range text.FirstRows(d.Rows, d.Top) {
		side, row := of(&r, sides)
		shown[side] = append(shown[side], row[0])
	}
	for _, side := range sides {
		side.TellApart(shown[side])
	}
	return sides
}

// of is the describer of a row, and its sites there: those of the current side, unless the row is
// gone.
func of(r *compare.Row, sides [2]*siteview.Describer) (*siteview.Describer, []symbolize.SiteID) {
	if len(r.CurrentSites) > 0 {
		return sides[1], r.CurrentSites
	}
	return sides[0], r.BaseSites
}

func (d *Report) row(p *text.Printer, rank int, r *compare.Row, sides [2]*siteview.Describer) {
	delta := r.Delta()
	describer, row := of(r, sides)
	v := describer.View(row)
	allocated := "–"
	if d.HasAlloc() {
		allocated = bounded(r.BaseBound.AllocBytes, r.CurrentBound.AllocBytes, units.SignedBytes(delta.AllocBytes))
	}
	columns := d.columns()
	numbers := columns.Row(strconv.Itoa(rank), " "+string(r.Change),
		noisy(r)+bounded(r.BaseBound.InuseBytes, r.CurrentBound.InuseBytes, units.SignedBytes(delta.InuseBytes)),
		bounded(r.BaseBound.InuseObjects, r.CurrentBound.InuseObjects, fmt.Sprintf("%+d", delta.InuseObjects)),
		value(r.Base.InuseBytes, r.BaseBound.InuseBytes), value(r.Current.InuseBytes, r.CurrentBound.InuseBytes),
		allocated)
	for _, line := range text.Row(numbers, v.Title(), v.Where, d.Width) {
		p.Linef("%s", line)
	}
	if path := v.CallPath(text.PathWidth(d.Width)); path != "" {
		p.Linef("     %s", path)
	}
	if r.Moved {
		p.Linef("     moved: the function as a whole hardly changed")
	}
	if delta.InuseBytes > 0 {
		if advice := v.Advice(false); advice != "" {
			p.Linef("     → %s", advice)
		}
	}
}

// columns are the columns before the site. A narrow terminal has no room for what was allocated.
func (d *Report) columns() text.Table {
	return text.NewTable(
		d.Width,
		text.Column{Head: "#", Width: 3},
		text.Column{Head: " CHANGE", Width: 8, Left: true},
		text.Column{Head: "Δ BYTES", Width: 12, Narrow: 11},
		text.Column{Head: "Δ OBJECTS", Width: 9, Rank: 2},
		text.Column{Head: "BASE", Width: 10, Rank: 3},
		text.Column{Head: "CURRENT", Width: 10, Rank: 1},
		text.Column{Head: "Δ ALLOCATED", Width: 12, Rank: 4},
	)
}

// bounded marks a difference that is a bound: it is at most this if base is truncated, at least
// this if current is.
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

// noisy marks a difference that may be the noise of sampling.
func noisy(r *compare.Row) string {
	if math.Abs(float64(r.Delta().InuseBytes)) < 2*r.Noise {
		return "~ "
	}
	return ""
}

// value shows a number of bytes. Of a truncated snapshot it is a lower bound, or an upper bound if
// nothing is visible.
func value(n, bound int64) string {
	switch {
	case bound > 0 && n > 0:
		return "≥ " + units.Bytes(n)
	case bound == math.MaxInt64:
		return "hidden"
	case bound > 0:
		return "≤ " + units.Bytes(bound)
	}
	return units.Bytes(n)
}

// rest is what the table leaves out, so that the differences add up to the total.
func (d *Report) rest(p *text.Printer, shown int) {
	var sum int64
	for i := range d.Rows[shown:] {
		delta := d.Rows[shown+i].Delta()
		sum += delta.InuseBytes
	}
	if n := len(d.Rows) - shown; n > 0 {
		p.Linef("… and %s with %s%s", units.Count(n, "more site"), units.SignedBytes(sum), text.ShowAll(len(d.Rows)))
	}
	if h := d.Current.Hidden().Sub(d.Base.Hidden()); h.InuseBytes != 0 {
		p.Linef("… and %s at sites that the files do not list", units.SignedBytes(h.InuseBytes))
	}
	if d.Unchanged > 0 {
		p.Linef("%s did not change", units.Count(d.Unchanged, "site"))
	}
}
