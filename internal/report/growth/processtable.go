package growth

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// ProcessRow is a row of the table of processes, as text.
type ProcessRow struct {
	Name, Command string
	// ID identifies the process, as [ProcessID] does.
	ID      string
	Verdict string
	// Label is the verdict, with the chance of a leak if that is not small.
	Label             string
	Snapshots         int
	Growth, Rate, Now string // "-" if they are not known
	// Site is the site that leaks or may leak, or why there is no verdict; it may be empty.
	Site string
	// Meaning explains the verdict in at most two sentences.
	Meaning string
}

// ProcessRows are the rows of the table of the judged processes, worst first; none if there is only
// one.
func (g *Report) ProcessRows() []ProcessRow { return withCommands(g.processRows(), maxCommand) }

// processRows are the same with whole commands.
func (g *Report) processRows() (rows []ProcessRow) {
	all := g.judged()
	if len(all) < 2 {
		return nil
	}
	unit, _ := g.RateUnit()
	commands := commandLines(all)
	for i := range all {
		p := &all[i]
		row := ProcessRow{
			Name: text.Clean(p.Name()), ID: ProcessID(&p.Process), Command: commands[i],
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

const (
	// maxCommand is the largest width of a command where there is room.
	maxCommand = 120
	// widestProcess is the largest width of a name and of a command, and leastCommand the least one
	// of a column of commands.
	widestProcess, leastCommand = 36, 12
	// snapshotsWidth and sizesWidth are those of the columns between the command and the site, with
	// the blank before each. gap is the width between other columns.
	snapshotsWidth, sizesWidth, gap = 10, 14 + 11 + 13 + 11, 2
)

// processColumns are the columns of the table of processes.
type processColumns struct {
	// Widths; 0 leaves a column out. That of the terminal is 0 if there is none.
	name, command, snapshots, terminal int
	// folded reports whether commands are on the lines of the sites, for lack of room.
	folded bool
}

// columnsOf are the columns that fit a terminal. Commands are left out if all are the same, and the
// numbers of snapshots if they do not fit.
func columnsOf(rows []ProcessRow, terminal int) processColumns {
	c := processColumns{name: len("PROCESS"), snapshots: snapshotsWidth, terminal: terminal}
	differ := false
	for _, r := range rows {
		c.name = max(c.name, min(text.Width(r.Name), widestProcess))
		differ = differ || r.Command != rows[0].Command
	}
	if c.over() > 0 {
		c.snapshots = 0
		c.name -= min(max(c.over(), 0), c.name-len("PROCESS"))
	}
	if differ {
		c.command = widestProcess
		if terminal > 0 {
			c.command = min(c.command, -c.over()-2*gap)
		}
		if c.folded = c.command < leastCommand; c.folded {
			c.command = 0
		}
	}
	return c
}

// over is the number of columns by which the table without commands and sites is wider than the
// terminal; 0 without one.
func (c *processColumns) over() int {
	if c.terminal <= 0 {
		return 0
	}
	return c.name + gap + c.snapshots + sizesWidth - c.terminal
}

// table has the columns of a row before the site. rate is the title of that of rates.
func (c *processColumns) table(rate string) text.Table {
	columns := []text.Column{{Head: "PROCESS", Width: c.name + 1, Left: true}}
	if c.command > 0 {
		columns = append(columns, text.Column{Head: "COMMAND", Width: c.command + 1, Left: true})
	}
	columns = append(columns, text.Column{Head: "VERDICT", Width: 14, Narrow: 13, Left: true})
	if c.snapshots > 0 {
		columns = append(columns, text.Column{Head: "SNAPSHOTS", Width: c.snapshots - 1})
	}
	return text.NewTable(c.terminal, append(columns,
		text.Column{Head: "GROWTH", Width: 10, Narrow: 9},
		text.Column{Head: rate, Width: 12, Narrow: 9, Rank: 1},
		text.Column{Head: "NOW", Width: 10, Narrow: 9, Rank: 2},
	)...)
}

// numbers are the cells of a row before the site.
func (c *processColumns) numbers(r ProcessRow) (cells []string) {
	cells = append(cells, text.Clip(r.Name, c.name))
	if c.command > 0 {
		cells = append(cells, r.Command)
	}
	cells = append(cells, r.Label)
	if c.snapshots > 0 {
		cells = append(cells, strconv.Itoa(r.Snapshots))
	}
	return append(cells, r.Growth, r.Rate, r.Now)
}

// row are the lines of a process: its site is on a line of its own if it does not fit.
func (c *processColumns) row(table *text.Table, r ProcessRow) []string {
	about := r.Site
	if c.folded {
		about = text.Join("  ", r.Command, about)
	}
	numbers := table.Row(c.numbers(r)...)
	if about == "" {
		return []string{strings.TrimRight(numbers, " ")}
	}
	return text.Row(numbers, about, "", c.terminal)
}

// ProcessTable are the lines of the table of at most n processes; none if there is only one.
func (g *Report) ProcessTable(n int) (lines []string) {
	all := g.processRows()
	if all == nil {
		return nil
	}
	unit, _ := g.RateUnit()
	rows := text.FirstRows(all, n)
	columns := columnsOf(rows, g.width())
	rows = withCommands(rows, cmp.Or(columns.command, widestProcess))
	table := columns.table("PER " + rateHeading(unit))
	head := table.Head()
	if columns.folded { // sites are on lines of their own
		head = strings.TrimRight(head, " ")
	} else {
		head = text.WithTitle(head, "SITE", columns.terminal)
	}
	lines = append(lines, head)
	for _, r := range rows {
		lines = append(lines, columns.row(&table, r)...)
	}
	if more := len(all) - len(rows); more > 0 {
		others := units.CountOf(more, "more process", "more processes")
		lines = append(lines, "… and "+others+text.ShowAll(g.Flags, len(all)))
	}
	return lines
}
