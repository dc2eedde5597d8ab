package listing

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Info is what a series contains, what is missing and what is suspicious.
type Info struct {
	Series *series.Series
	// All makes Text list every snapshot instead of the first and last ones.
	All bool
	// Unnamed is of the last snapshot; nil if the series was not symbolized.
	Unnamed *class.Unnamed
	// Program is the main program, whose file may be missing or another build; nil if it is not
	// known.
	Program *symbolize.Module
	// Width is that of the terminal in columns; 0 for none.
	Width int
}

// Text writes the listing for a terminal.
func (i *Info) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	i.facts(p)
	p.Linef("")
	i.table(p)
	i.findings(p)
	siteview.Unnamed{Unnamed: i.Unnamed}.Text(p)
	return p.Err
}

// shownEnds is the number of snapshots listed at each end of a long series.
const shownEnds = 6

func (i *Info) table(p *text.Printer) {
	heads := i.Series.Heads
	rss, pss := memoryColumn(i.Series.RSS), memoryColumn(i.Series.PSS)
	objects := "OBJECTS"
	if heads[0].Format == heapfile.FormatGoroutines {
		objects = "GOROUTINES"
	}
	columns := []text.Column{{Head: "#", Width: 4}, {Head: "AT", Width: 10}, {Head: "IN USE", Width: 11}}
	columns = append(append(columns, rss.column("RSS", 2)...), pss.column("PSS", 3)...)
	table := text.NewTable(i.Width, append(columns,
		text.Column{Head: objects, Width: 10, Rank: 4}, text.Column{Head: "ALLOCATED", Width: 11, Rank: 5},
		text.Column{Head: "ROWS", Width: 8, Rank: 6}, text.Column{Width: 11, Left: true, Rank: 1})...)
	p.Linef("%s", text.WithTitle(strings.TrimSuffix(table.Head(), " "), "FILE", i.Width))
	for k, h := range heads {
		if !i.All && len(heads) > 2*shownEnds+2 && k >= shownEnds && k < len(heads)-shownEnds {
			if k == shownEnds {
				p.Linef("   … %d more: %s lists them", len(heads)-2*shownEnds, option.Verbose)
			}
			continue
		}
		cells := []string{strconv.Itoa(k + 1), i.at(k), units.Bytes(h.Heap().InuseBytes)}
		cells = append(append(cells, rss.cell(k)...), pss.cell(k)...)
		cells = append(cells, objectsIn(h), allocated(h), strconv.Itoa(h.Rows), " "+flagsOf(h))
		for _, line := range text.Row(strings.TrimSuffix(table.Row(cells...), " "), text.Clean(h.Path), "", i.Width) {
			p.Linef("%s", line)
		}
	}
}

// memoryColumn is the memory of the process at each snapshot. The table has the column only if a
// value was recorded.
type memoryColumn []*int64

// column is the column, if the recorder wrote any of its values.
func (c memoryColumn) column(name string, rank int) []text.Column {
	if !c.recorded() {
		return nil
	}
	return []text.Column{{Head: name, Width: 10, Rank: rank}}
}

// cell is the value at a snapshot, if there is such a column.
func (c memoryColumn) cell(k int) []string {
	switch {
	case !c.recorded():
		return nil
	case c[k] == nil:
		return []string{"-"}
	}
	return []string{units.Bytes(*c[k])}
}

func (c memoryColumn) recorded() bool {
	return slices.ContainsFunc(c, func(v *int64) bool { return v != nil })
}

// at is the position of a snapshot on the clock.
func (i *Info) at(k int) string {
	c := i.Series.Clock
	switch {
	case c.Source.IsTime():
		return units.Duration(c.At[k])
	case c.Source == series.ClockAllocated:
		return units.Bytes(c.At[k])
	}
	return fmt.Sprintf("%.0f", c.At[k])
}

func objectsIn(h *series.Head) string {
	if h.NoObjects {
		return "-"
	}
	return fmt.Sprint(h.Heap().InuseObjects)
}

func allocated(h *series.Head) string {
	if !h.HasAlloc {
		return "-"
	}
	return units.Bytes(h.Heap().AllocBytes)
}

func flagsOf(h *series.Head) string {
	switch {
	case h.Completeness.Unfinished:
		return "unfinished"
	case h.Completeness.Truncated:
		return "truncated"
	}
	return ""
}

// findings lists the problems, the warnings of the series, and the first one of each kind in its
// files.
func (i *Info) findings(p *text.Printer) {
	warnings := text.Advise(pipeline.AllWarnings(i.Series))
	names := siteview.ProgramRemedy(i.Program)
	if len(warnings) == 0 && len(i.Series.Problems) == 0 && names == "" {
		if i.Unnamed.Negligible() {
			p.Linef("")
			p.Linef("nothing suspicious found%s", i.unchecked())
		}
		return
	}
	p.Linef("")
	for _, b := range i.Series.Problems {
		p.Linef("unusable: %s", text.Message(b.Error()))
	}
	for _, g := range pipeline.GroupWarnings(warnings) {
		p.Linef("%s: %s", g.Kind, text.Message(g.Text()))
	}
	if names != "" {
		p.Linef("no names of the program's functions: %s", text.Message(names))
	}
}

// unchecked is what was not looked at, and how to look at it; empty if the names of functions were.
func (i *Info) unchecked() string {
	if i.Unnamed != nil {
		return ""
	}
	return "; " + option.Symbols + " also checks the names of functions"
}
