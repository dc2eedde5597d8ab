package listing

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// show is a value with its unit.
func show(t convert.SampleType, n int64) string {
	if t == convert.InuseObjects || t == convert.AllocObjects {
		return fmt.Sprint(n)
	}
	return units.Bytes(n)
}

// Top is the table of functions of one snapshot. Flat is the memory attributed to a function: the
// one nearest to the leaf that does not belong to the allocator, a container or an interpreter.
// Cumulative includes the memory of its callees.
type Top struct {
	Snapshot *series.Head // without rows
	Type     convert.SampleType
	Total    int64 // of all rows that passed the filter
	Rows     []TopRow
	Unnamed  *class.Unnamed // of the same rows
	// Processes are those of the recording, largest first, if there are several. The snapshot is of
	// the first.
	Processes []pipeline.ProcessSnapshot
	// Limit is the number of rows in text; 0 shows 20.
	Limit int
	// Ages tells which memory counts.
	Ages series.Ages
	text.Style

	symbols *symbolize.Symbols
}

// TopRow is one function, or one line of a script.
type TopRow struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Flat     int64  `json:"flat"`
	Cum      int64  `json:"cum"`
}

// NewTop sums a snapshot by function.
func NewTop(s *series.Snapshot, symbols *symbolize.Symbols, t convert.SampleType, filter *symbolize.Filter) *Top {
	top := &Top{Snapshot: s.Head, Type: t, symbols: symbols}
	unnamed := class.NewUnnamed(symbols, nil)
	b := topBuilder{symbols: symbols, blamer: class.NewBlamer(symbols, nil), rows: map[topKey]*TopRow{}}
	for _, row := range s.Samples {
		if filter.Keep(row.Stack) {
			estimate := s.Estimate(row)
			unnamed.Add(row.Stack, estimate.InuseBytes)
			v := t.Of(estimate)
			top.Total += v
			b.add(symbols.Stack(row.Stack), v)
		}
	}
	top.Unnamed = unnamed.Done()
	for _, r := range b.rows {
		top.Rows = append(top.Rows, *r)
	}
	slices.SortFunc(top.Rows, func(x, y TopRow) int {
		return cmp.Or(cmp.Compare(y.Flat, x.Flat), cmp.Compare(y.Cum, x.Cum),
			cmp.Compare(x.Function, y.Function), cmp.Compare(x.Module, y.Module), cmp.Compare(x.File, y.File),
			cmp.Compare(x.Line, y.Line))
	})
	return top
}

type topKey struct {
	function, module, file string
	line                   int // of a script
}

type topBuilder struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	rows    map[topKey]*TopRow
}

// add counts a stack: flat for the function that it is attributed to, cumulative once for each
// function on it.
func (b *topBuilder) add(stack []symbolize.LocationID, v int64) {
	seen := map[topKey]bool{}
	for _, id := range stack {
		l := &b.symbols.Locations[id]
		for k := range max(1, len(l.Frames)) {
			row, key := b.row(l, k)
			if !seen[key] {
				seen[key] = true
				row.Cum += v
			}
		}
	}
	if ref, ok := b.blamer.Blame(stack); ok {
		row, _ := b.row(&b.symbols.Locations[stack[ref.Position]], max(0, ref.Frame))
		row.Flat += v
	}
}

func (b *topBuilder) row(l *symbolize.Location, frame int) (*TopRow, topKey) {
	r := TopRow{Function: siteview.FrameName(b.symbols, l, frame)}
	if m := b.symbols.Module(l); m != nil {
		r.Module = m.Title()
	}
	if frame < len(l.Frames) {
		r.File, r.Line = l.Frames[frame].File, l.Frames[frame].StartLine
	}
	key := topKey{r.Function, r.Module, r.File, 0}
	if l.Script() {
		r.Line = l.Frames[frame].Line
		key.line = r.Line
	}
	if known, ok := b.rows[key]; ok {
		return known, key
	}
	b.rows[key] = &r
	return &r, key
}

// Text writes the table for a terminal.
func (t *Top) Text(w io.Writer) error {
	p := &text.Printer{W: w, Links: siteview.Links(t.Style, t.symbols)}
	t.processTable(p)
	of := text.Join(" ", string(t.Type), t.Ages.String())
	p.Linef("%s: %s of %s", text.Clean(t.Snapshot.Path), show(t.Type, t.Total), of)
	rows := text.FirstRows(t.Rows, t.Limit)
	var files []string
	for _, r := range rows {
		files = append(files, r.File)
	}
	names := text.DistinctFiles(files)
	p.Linef("%s", t.Style.Head(text.WithTitle(fmt.Sprintf("%10s %6s %10s %6s  ", "FLAT", "", "CUM", ""), "FUNCTION", t.Width)))
	for _, r := range rows {
		where := text.Position(r.File, r.Line)
		if name := names[r.File]; name != "" {
			where = text.PositionIn(name, r.Line)
		} else if where == "" {
			where = text.Clean(r.Module)
		}
		numbers := fmt.Sprintf("%10s %6s %10s %6s  ", show(t.Type, r.Flat), t.share(r.Flat), show(t.Type, r.Cum), t.share(r.Cum))
		for _, line := range text.Row(numbers, text.ClipName(r.Function, 100), where, t.Width) {
			p.Linef("%s", line)
		}
	}
	if n := len(t.Rows) - len(rows); n > 0 {
		p.Linef("… and %s%s", units.Count(n, "more function"), text.ShowAll(len(t.Rows)))
	}
	siteview.Unnamed{Unnamed: t.Unnamed}.Text(p)
	return p.Err
}

// processTable writes the table of processes, if there are several.
func (t *Top) processTable(p *text.Printer) {
	if len(t.Processes) == 0 {
		return
	}
	rows := text.FirstRows(t.Processes, t.Limit)
	p.Linef("%10s  %s", "HEAP", "PROCESS")
	for _, r := range rows {
		p.Linef("%10s  %s", show(t.Type, r.Value), text.Message(r.Title()))
	}
	if n := len(t.Processes) - len(rows); n > 0 {
		p.Linef("… and %s%s", units.CountOf(n, "more process", "more processes"), text.ShowAll(len(t.Processes)))
	}
	p.Linef("")
}

// topProcessJSON is a [pipeline.ProcessSnapshot] in JSON.
type topProcessJSON struct {
	PID      int      `json:"pid"`
	Prefix   string   `json:"prefix"`
	Command  []string `json:"command"`
	Snapshot string   `json:"snapshot"`
	Value    int64    `json:"value"`
}

func (t *Top) processesJSON() []topProcessJSON {
	out := []topProcessJSON{}
	for _, p := range t.Processes {
		out = append(out, topProcessJSON{p.PID, p.Prefix, append([]string{}, p.Command...), p.Snapshot.Path, p.Value})
	}
	return out
}

func (t *Top) share(v int64) string {
	if t.Total == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(v)/float64(t.Total))
}

// JSON writes the table as heaplapse.top/1, all rows.
func (t *Top) JSON(w io.Writer) error {
	return text.WriteJSON(w, struct {
		Schema    string                 `json:"schema"`
		Snapshot  string                 `json:"snapshot"`
		Sample    convert.SampleType     `json:"sample"`
		Total     int64                  `json:"total"`
		OlderThan float64                `json:"older_than_seconds,omitempty"`
		BornAfter float64                `json:"born_after_seconds,omitempty"`
		Processes []topProcessJSON       `json:"processes"`
		Rows      []TopRow               `json:"rows"`
		Unnamed   []siteview.UnnamedJSON `json:"unnamed"`
	}{
		"heaplapse.top/1", t.Snapshot.Path, t.Type, t.Total, t.Ages.OlderThan.Seconds(), t.Ages.BornAfter.Seconds(), t.processesJSON(),
		append([]TopRow{}, t.Rows...),
		siteview.Unnamed{Unnamed: t.Unnamed}.JSON(),
	})
}
