package dwarf

import "github.com/heaplapse/heaplapse/symbolize/internal/dwarf/lines"

// lineTable reads the table that the unit's DW_AT_stmt_list refers to.
func (u *unit) lineTable() (*lines.Table, error) {
	return lines.Read(lines.Source{
		Section: u.data.sec.Line, Offset: u.lineOff, Shape: u.Shape, CompDir: u.compDir, Repeat: u.data.repeat, Text: u.Text,
		Spend:     func(steps int) bool { return spend(&u.data.budget.lines, steps) },
		MaxVisits: limit,
		Fault:     func(offset uint64, msg string) error { return formatError(".debug_line", offset, msg) },
	})
}
