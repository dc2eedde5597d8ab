package text

import "strings"

// Column is a column of a table, before the one that names the rows.
type Column struct {
	Head string
	// Width is in columns of the terminal, and Narrow the width on terminals that do not fit the
	// table; 0 is the same.
	Width, Narrow int
	// Left aligns the cells to the left.
	Left bool
	// Rank decides which column goes first if the terminal is narrower still: the one with the
	// highest; a column with 0 stays.
	Rank int
}

// Table lays out rows in columns that fit a terminal.
type Table struct {
	columns []Column
	hidden  []bool
}

// NewTable returns a table of at most a width in columns; 0 has no limit.
func NewTable(width int, columns ...Column) Table {
	t := Table{columns, make([]bool, len(columns))}
	if width <= 0 || t.width() <= width {
		return t
	}
	t.columns = append([]Column{}, columns...)
	for i, c := range t.columns {
		if c.Narrow > 0 {
			t.columns[i].Width = max(c.Narrow, Width(c.Head))
		}
	}
	for t.width() > width && t.hide() {
	}
	return t
}

// hide hides the column with the highest rank, and reports whether there was one.
func (t *Table) hide() bool {
	most := -1
	for i, c := range t.columns {
		if !t.hidden[i] && c.Rank > 0 && (most < 0 || c.Rank > t.columns[most].Rank) {
			most = i
		}
	}
	if most >= 0 {
		t.hidden[most] = true
	}
	return most >= 0
}

func (t *Table) width() (n int) {
	for i, c := range t.columns {
		if !t.hidden[i] {
			n += c.Width + 1
		}
	}
	return max(n-1, 0)
}

// WithTitle is the head of a table with the title of the names of its rows, if it fits a width.
// Else the names are on lines of their own.
func WithTitle(head, title string, width int) string {
	if width > 0 && Width(head+title) > width {
		return strings.TrimRight(head, " ")
	}
	return head + title
}

// Head is the line of the titles.
func (t *Table) Head() string {
	var cells []string
	for _, c := range t.columns {
		cells = append(cells, c.Head)
	}
	return t.Row(cells...)
}

// Row is a line with a cell for each column, those that are hidden included, and two blanks behind.
func (t *Table) Row(cells ...string) string {
	var parts []string
	for i, c := range t.columns {
		switch {
		case t.hidden[i]:
		case c.Left:
			parts = append(parts, Pad(cells[i], c.Width))
		default:
			parts = append(parts, strings.Repeat(" ", max(c.Width-Width(cells[i]), 0))+cells[i])
		}
	}
	return strings.Join(parts, " ") + "  "
}
