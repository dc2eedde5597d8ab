package query

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/fleet/verdict"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Answer is the result of a question.
type Answer struct {
	Question Question
	*Result
	// Nearest has the sites that come nearest to a row, if there is none. It is nil for questions
	// that have no such sites.
	Nearest *Result
}

// Text writes a table. Bytes are in units; a key is a number.
func (a *Answer) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	if len(a.Rows) == 0 {
		p.Linef("no rows: %s", a.Question.Title)
		a.nearest(p)
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

// nearest writes how close to a row the nearest sites come, and why they are none:
//
//	nearest: handle app.py:9 (service shop): chance 31 %, 40 % is required; 1 of 4 processes leaks
func (a *Answer) nearest(p *text.Printer) {
	if a.Nearest == nil {
		return
	}
	if len(a.Nearest.Rows) == 0 {
		p.Linef("nearest: none; the question coverage counts the processes that were judged")
	}
	for _, row := range a.Nearest.objects() {
		chance, gained := number(row["mean_confidence"]), number(row["gained_bytes_per_host"])
		reached := units.Percent(chance)
		if chance < verdict.Chosen.Least {
			reached = fmt.Sprintf("%d %%, %s is required", int(100*chance), units.Percent(verdict.Chosen.Least))
		}
		line := fmt.Sprintf("nearest: %s (service %v): chance %s; %s", place(row), row["service"], reached,
			leaking(row["leaking_processes"], row["processes"]))
		if least := verdict.Chosen.Gained; gained < float64(least) {
			line += fmt.Sprintf("; gained %s per host, %s is required", units.Bytes(gained), units.RoundBytes(least))
		}
		p.Linef("%s", text.Clean(line))
	}
}

// leaking says in how many of the processes a site leaks.
func leaking(some, all any) string {
	verb := "leak"
	if number(some) == 1 {
		verb = "leaks"
	}
	return fmt.Sprintf("%v of %s %s", some, units.CountOf(int(number(all)), "process", "processes"), verb)
}

// place is the name of a site with its file and line, as far as they are known.
func place(row map[string]any) string {
	name := text.Clip(fmt.Sprint(row["function_name"]), longest)
	switch {
	case row["file"] == "":
		return name
	case row["line"] == nil:
		return fmt.Sprintf("%s %v", name, row["file"])
	}
	return fmt.Sprintf("%s %v:%v", name, row["file"], row["line"])
}

// number returns a value of the engine as a number, and 0 for anything else.
func number(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
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
	Nearest  []map[string]any `json:"nearest,omitempty"`
}

// JSON writes the result as heaplapse.fleet/1. Keys are strings: a number would lose digits in some
// readers.
func (a *Answer) JSON(w io.Writer) error {
	out := answerJSON{
		Schema: "heaplapse.fleet/1", Question: a.Question.Name,
		Columns: append([]string{}, a.Columns...), Rows: a.objects(),
	}
	if a.Nearest != nil {
		out.Nearest = a.Nearest.objects()
	}
	return text.WriteJSON(w, out)
}

// objects returns the rows by the names of their columns.
func (r *Result) objects() []map[string]any {
	out := []map[string]any{}
	for _, row := range r.Rows {
		object := map[string]any{}
		for c, v := range row {
			if n, ok := v.(json.Number); ok && strings.HasSuffix(r.Columns[c], "_key") {
				v = n.String()
			}
			object[r.Columns[c]] = v
		}
		out = append(out, object)
	}
	return out
}
