package processtable

import (
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

const (
	// widestProcess is the largest width of a name and of a command, and leastCommand the least one
	// of a column of commands.
	widestProcess, leastCommand = 36, 12
	// markdownCommand is the largest width of a command in Markdown.
	markdownCommand = 60
	// snapshotsWidth and sizesWidth are those of the columns between the command and the site, with
	// the blank before each. gap is the width between other columns.
	snapshotsWidth, sizesWidth, gap = 10, 14 + 11 + 13 + 11, 2
)

// columns are those of the table.
type columns struct {
	// Widths; 0 leaves a column out. That of the terminal is 0 if there is none.
	name, command, snapshots, terminal int
	// folded reports whether commands are on the lines of the sites, for lack of room.
	folded bool
}

// columnsOf are the columns that fit a terminal. Commands are left out if all are the same, and the
// numbers of snapshots if they do not fit.
func columnsOf(rows []Row, terminal int) columns {
	c := columns{name: len("PROCESS"), snapshots: snapshotsWidth, terminal: terminal}
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
func (c *columns) over() int {
	if c.terminal <= 0 {
		return 0
	}
	return c.name + gap + c.snapshots + sizesWidth - c.terminal
}

// table has the columns of a row before the site. rate is the title of that of rates.
func (c *columns) table(rate string) text.Table {
	list := []text.Column{{Head: "PROCESS", Width: c.name + 1, Left: true}}
	if c.command > 0 {
		list = append(list, text.Column{Head: "COMMAND", Width: c.command + 1, Left: true})
	}
	list = append(list, text.Column{Head: "VERDICT", Width: 14, Narrow: 13, Left: true})
	if c.snapshots > 0 {
		list = append(list, text.Column{Head: "SNAPSHOTS", Width: c.snapshots - 1})
	}
	return text.NewTable(c.terminal, append(list,
		text.Column{Head: "GROWTH", Width: 10, Narrow: 9},
		text.Column{Head: rate, Width: 12, Narrow: 9, Rank: 1},
		text.Column{Head: "NOW", Width: 10, Narrow: 9, Rank: 2},
	)...)
}

// numbers are the cells of a row before the site.
func (c *columns) numbers(r Row) (cells []string) {
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
func (c *columns) row(table *text.Table, r Row) []string {
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
