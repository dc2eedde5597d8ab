// Package processtable lays out the processes of a recording as a table, a row for each, for
// terminals of any width and for Markdown. Commands are shortened to what tells them apart.
package processtable

import (
	"cmp"
	"strings"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Row is a process, as text.
type Row struct {
	Name, Command string
	// ID identifies the process.
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

// Table is the processes of a recording, worst first, with whole commands.
type Table struct {
	Rows []Row
	// Unit is what rates are per, and UnitTitle the same in the title of a column.
	Unit, UnitTitle string
}

// Text are the lines of the table of at most n processes. width is that of the terminal, in
// characters; 0 if there is none.
func (t *Table) Text(n, width int) (lines []string) {
	rows := text.FirstRows(t.Rows, n)
	columns := columnsOf(rows, width)
	rows = Shorten(rows, cmp.Or(columns.command, widestProcess))
	table := columns.table("PER " + t.UnitTitle)
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
	if more := t.more(rows); more != "" {
		lines = append(lines, more+text.ShowAll(len(t.Rows)))
	}
	return lines
}

// Markdown writes the table of at most n processes.
func (t *Table) Markdown(p *text.Printer, n int) {
	p.Linef("| process | command | verdict | snapshots | growth | per %s | now | site |", t.Unit)
	p.Linef("|---|---|---|--:|--:|--:|--:|---|")
	rows := Shorten(text.FirstRows(t.Rows, n), markdownCommand)
	for _, r := range rows {
		if r.Verdict == string(verdict.SeriesLeak) {
			r.Label = "**" + r.Label + "**"
		}
		p.Linef("| %s | %s | %s | %d | %s | %s | %s | %s |", text.EscapeMarkdown(r.Name),
			text.Code(r.Command, markdownCommand), r.Label, r.Snapshots, r.Growth, r.Rate, r.Now, text.EscapeMarkdown(r.Site))
	}
	if more := t.more(rows); more != "" {
		p.Linef("")
		p.Linef("%s.", more)
	}
}

// more is the number of processes that are not shown; empty if all are.
func (t *Table) more(shown []Row) string {
	if n := len(t.Rows) - len(shown); n > 0 {
		return "… and " + units.CountOf(n, "more process", "more processes")
	}
	return ""
}
