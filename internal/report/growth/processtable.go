package growth

import (
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/processtable"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// ProcessRow is a row of the table of processes, as text.
type ProcessRow = processtable.Row

// maxCommand is the largest width of a command where there is room.
const maxCommand = 120

// ProcessRows are the rows of the table of the judged processes, worst first; none if there is only
// one.
func (g *Report) ProcessRows() []ProcessRow { return processtable.Shorten(g.processRows(), maxCommand) }

// processRows are the same with whole commands.
func (g *Report) processRows() (rows []ProcessRow) {
	all := g.judged()
	if len(all) < 2 {
		return nil
	}
	unit, _ := g.RateUnit()
	commands := make([][]string, len(all))
	for i := range all {
		commands[i] = all[i].Command
	}
	lines := processtable.Commands(commands)
	for i := range all {
		p := &all[i]
		row := ProcessRow{
			Name: text.Clean(p.Name()), ID: ProcessID(&p.Process), Command: lines[i],
			Verdict: string(p.Verdict), Label: string(p.Verdict),
			Snapshots: p.Files, Growth: "-", Rate: "-", Now: "-",
			Meaning: text.Sentences(text.Clean(p.Why), p.chance()),
		}
		if p.Chance != nil && *p.Chance >= trend.SuspectConfidence {
			row.Label += " " + text.ShortPercent(*p.Chance)
		}
		if s := p.worst(); s != nil {
			row.Site = s.heading
		}
		if h := p.Heap; h != nil {
			row.Growth, row.Now = units.SignedBytes(h.Gained), units.Bytes(h.Now)
			if h.RatePer == unit {
				row.Rate = units.SignedBytes(h.Rate)
			}
		}
		if row.Site == "" && p.Verdict == verdict.SeriesUndecided {
			row.Site = text.Clean(p.Why)
		}
		rows = append(rows, row)
	}
	tellApart(rows, all)
	return rows
}

// ProcessID identifies a process of a recording.
func ProcessID(p *series.Process) string { return p.Prefix + " " + p.String() }

// tellApart names processes by their prefixes if they have equal names.
func tellApart(rows []ProcessRow, all []Process) {
	count := map[string]int{}
	for i := range rows {
		count[rows[i].Name]++
	}
	for i := range rows {
		if count[rows[i].Name] > 1 && all[i].Prefix != "" {
			rows[i].Name = text.Clean(all[i].Prefix)
		}
	}
}

// processTable is the table of the judged processes; nil if there is only one.
func (g *Report) processTable() *processtable.Table {
	rows := g.processRows()
	if rows == nil {
		return nil
	}
	unit, _ := g.RateUnit()
	return &processtable.Table{Rows: rows, Unit: unit, UnitTitle: rateHeading(unit)}
}

// ProcessTable are the lines of the table of at most n processes; none if there is only one.
func (g *Report) ProcessTable(n int) []string {
	if t := g.processTable(); t != nil {
		return t.Text(n, g.width())
	}
	return nil
}
