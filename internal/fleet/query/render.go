package query

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Answer is the result of a question.
type Answer struct {
	Question Question
	*Result
}

// Text writes a table. Bytes are in units; a key is a number.
func (a *Answer) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	if len(a.Rows) == 0 {
		p.Linef("no rows: %s", a.Question.Title)
		return p.Err
	}
	table := [][]string{make([]string, len(a.Columns))}
	for c, name := range a.Columns {
		table[0][c] = strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(name, "_bytes"), "_", " "))
	}
	for _, row := range a.Rows {
		cells := make([]string, len(row))
		for c, v := range row {
			cells[c] = cell(a.Columns[c], v)
		}
		table = append(table, cells)
	}
	for _, row := range table {
		p.Linef("%s", strings.TrimRight(a.line(table, row), " "))
	}
	return p.Err
}

// line is a row of a table, with numbers to the right.
func (a *Answer) line(table [][]string, row []string) string {
	var cells []string
	for c, v := range row {
		width := 0
		for _, other := range table {
			width = max(width, utf8.RuneCountInString(other[c]))
		}
		fill := strings.Repeat(" ", width-utf8.RuneCountInString(v))
		if a.isNumber(c) {
			cells = append(cells, fill+v)
		} else {
			cells = append(cells, v+fill)
		}
	}
	return strings.Join(cells, "  ")
}

func (a *Answer) isNumber(column int) bool {
	_, ok := a.Rows[0][column].(json.Number)
	return ok
}

// longest is the width of a name in a table, in characters.
const longest = 60

func cell(column string, v any) string {
	n, isNumber := v.(json.Number)
	switch {
	case v == nil:
		return "-"
	case isNumber && (strings.HasSuffix(column, "_bytes") || strings.HasSuffix(column, "bytes_per_hour")):
		if f, err := n.Float64(); err == nil {
			return units.Bytes(f)
		}
	case !isNumber:
		return text.Clip(text.Clean(fmt.Sprint(v)), longest)
	}
	return n.String()
}

// CSV writes a line of names and a line per row.
func (a *Answer) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{a.Columns}
	for _, row := range a.Rows {
		line := make([]string, len(row))
		for c, v := range row {
			if v != nil {
				line[c] = fmt.Sprint(v)
			}
		}
		lines = append(lines, line)
	}
	if len(a.Columns) == 0 {
		lines = nil
	}
	return out.WriteAll(lines)
}

type answerJSON struct {
	Schema   string           `json:"schema"`
	Question string           `json:"question"`
	Columns  []string         `json:"columns"`
	Rows     []map[string]any `json:"rows"`
}

// JSON writes the result as heaplapse.fleet/1. Keys are strings: a number would lose digits in some
// readers.
func (a *Answer) JSON(w io.Writer) error {
	out := answerJSON{
		Schema: "heaplapse.fleet/1", Question: a.Question.Name,
		Columns: append([]string{}, a.Columns...), Rows: []map[string]any{},
	}
	for _, row := range a.Rows {
		object := map[string]any{}
		for c, v := range row {
			if n, ok := v.(json.Number); ok && strings.HasSuffix(a.Columns[c], "_key") {
				v = n.String()
			}
			object[a.Columns[c]] = v
		}
		out.Rows = append(out.Rows, object)
	}
	return text.WriteJSON(w, out)
}
