// Package query answers questions about a fleet with a database that the user has.
//
// The questions are SQL files in internal/fleet/sql. They run on DuckDB, as a command or as a
// Python package; for other engines [Text] gives the text. heaplapse contains no database.
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/fleet/sql"
	"github.com/heaplapse/heaplapse/internal/fleet/verdict"
)

// Question is one of the questions.
type Question struct {
	// Name is that of its file, Title the first line.
	Name, Title string
	text        string
}

// Questions returns all questions, by name.
func Questions() []Question {
	names, err := fs.Glob(sql.Files, "*.sql")
	if err != nil {
		panic(err) // the pattern is part of the program
	}
	var out []Question
	for _, name := range names {
		out = append(out, question(name))
	}
	return out
}

// question returns the question in a file.
func question(name string) Question {
	text := file(name)
	first, _, _ := strings.Cut(text, "\n")
	return Question{strings.TrimSuffix(name, ".sql"), strings.TrimPrefix(first, "-- "), expand(text)}
}

// nearest returns the question that is asked if q has no rows.
func (q *Question) nearest() (Question, bool) {
	name := "nearest/" + q.Name + ".sql"
	if _, err := fs.Stat(sql.Files, name); err != nil {
		return Question{}, false
	}
	return question(name), true
}

func file(name string) string {
	text, err := fs.ReadFile(sql.Files, name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

// Find returns a question.
func Find(name string) (Question, error) {
	all := Questions()
	if i := slices.IndexFunc(all, func(q Question) bool { return q.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return Question{}, fmt.Errorf("no question %q; there are %s", name, strings.Join(names, ", "))
}

// Engines are those whose text [Text] gives.
var Engines = []string{"duckdb", "spark", "clickhouse", "trino", "bigquery"}

// Text returns a question for an engine, after the definitions of its tables. dir is a directory or
// a location that the engine reads.
func Text(q Question, engine, dir string) (string, error) {
	tables, err := tables(engine, dir)
	return tables + q.statement(), err
}

// tables returns the definitions of the tables for an engine.
func tables(engine, dir string) (string, error) {
	if strings.ContainsAny(dir, "'\\\n") {
		return "", fmt.Errorf("%s: a path with a quote or a backslash does not fit in SQL", dir)
	}
	return strings.ReplaceAll(file("engines/"+engine+".sql"), "${DIR}", dir) + "\n", nil
}

func (q *Question) statement() string { return q.text + ";\n" }

// expand puts the shared parts and the constants of the verdict into the text of a question.
func expand(text string) string {
	rule := verdict.Chosen
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return strings.NewReplacer(
		"${LEAST_CONFIDENCE}", number(rule.Least), "${LEAST_GAINED}", strconv.FormatInt(rule.Gained, 10),
		"${LEAST_LIFT}", number(rule.Lift), "${LIFT_PRIOR}", number(rule.Prior),
	).Replace(parts().Replace(text))
}

// parts puts the shared parts into a text: ${RUN_COLUMNS} is parts/run-columns.sql.
func parts() *strings.Replacer {
	names, err := fs.Glob(sql.Files, "parts/*.sql")
	if err != nil {
		panic(err) // the pattern is part of the program
	}
	var pairs []string
	for _, name := range names {
		part := strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(path.Base(name), ".sql"), "-", "_"))
		pairs = append(pairs, "${"+part+"}", strings.TrimSpace(file(name)))
	}
	return strings.NewReplacer(pairs...)
}

// Result is the rows of an answer. Numbers are as the engine wrote them.
type Result struct {
	Columns []string
	Rows    [][]any // nil, a string, a bool or a json.Number
}

// ErrNoDuckDB is returned if there is no DuckDB.
var ErrNoDuckDB = errors.New("neither the command duckdb nor the Python package duckdb was found")

// FutureNights returns the nights below dir that the questions ignore, in order: they are later
// than tomorrow, because the clock of a host is wrong.
func FutureNights(dir string, now time.Time) (nights []string) {
	entries, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil {
		return nil // DuckDB reports it
	}
	tomorrow := now.UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	for _, e := range entries {
		if _, night, ok := strings.Cut(e.Name(), "night="); ok && night > tomorrow {
			nights = append(nights, night)
		}
	}
	return nights
}

// Ask answers a question about the tables below dir with a program, as [DuckDB] does. If there are
// no rows, the answer has the nearest ones, for the questions that have such.
func Ask(ctx context.Context, q Question, dir, program string) (*Answer, error) {
	result, err := DuckDB(ctx, q, dir, program)
	if err != nil {
		return nil, err
	}
	a := &Answer{Question: q, Result: result}
	if near, ok := q.nearest(); ok && len(result.Rows) == 0 {
		a.Nearest, err = DuckDB(ctx, near, dir, program)
	}
	return a, err
}

// DuckDB runs a question on the tables below dir, with a program, the command duckdb or the
// package duckdb of python3 if program is "".
func DuckDB(ctx context.Context, q Question, dir, program string) (*Result, error) {
	if strings.ContainsAny(dir, "*?[") {
		return nil, fmt.Errorf("%s: DuckDB takes *, ? and [ in a path as a pattern", dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	for _, table := range []string{"runs", "sites", "aliases"} {
		if files, err := filepath.Glob(filepath.Join(dir, table, "*", "*.parquet")); err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: no table %s: fleet export writes it", dir, table)
		}
	}
	tables, err := tables("duckdb", dir)
	if err != nil {
		return nil, err
	}
	cmd, err := command(ctx, program)
	if err != nil {
		return nil, err
	}
	var errs strings.Builder
	// The first answer has the types of the columns.
	statements := quiet + tables + "DESCRIBE\n" + q.statement() + q.statement()
	cmd.Stdin, cmd.Stderr = strings.NewReader(statements), &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(errs.String()))
	}
	return parse(out)
}

// quiet turns off the progress bar, which the Python package writes to the standard output if a
// question takes more than two seconds.
const quiet = "SET enable_progress_bar = false;\n"

// script runs SQL with the Python package, and prints the last result. It has types of its own.
const script = `
import sys, json
import duckdb
connection = duckdb.connect(":memory:")
result = connection.execute(sys.stdin.read())
names = [column[0] for column in result.description]
rows = [dict(zip(names, row)) for row in result.fetchall()]
json.dump({"columns": names, "rows": rows}, sys.stdout)
`

// command returns how DuckDB is run. The settings of the user are not read: they may change the
// output.
func command(ctx context.Context, program string) (*exec.Cmd, error) {
	if program == "" {
		program, _ = exec.LookPath("duckdb")
	}
	python, err := exec.LookPath("python3")
	switch {
	case program != "" && strings.HasPrefix(filepath.Base(program), "python"):
		python = program
	case program != "":
		return exec.CommandContext(ctx, program, "-init", os.DevNull, "-json", ":memory:"), nil
	case err != nil || exec.CommandContext(ctx, python, "-c", "import duckdb").Run() != nil:
		return nil, ErrNoDuckDB
	}
	return exec.CommandContext(ctx, python, "-c", script), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// column is what DuckDB says about a column.
type column struct {
	Name string `json:"column_name"`
	Type string `json:"column_type"`
}

// isQuoted reports whether the command writes the numbers of the column as strings. Sums have such
// types.
func (c *column) isQuoted() bool {
	return c.Type == "HUGEINT" || c.Type == "UHUGEINT" || strings.HasPrefix(c.Type, "DECIMAL")
}

// parse reads what DuckDB printed: the columns and the rows, each as an array of objects, or the
// object that the Python package gives. For an answer without rows, old versions of the command
// print nothing, or [{].
func parse(out []byte) (*Result, error) {
	text := strings.TrimSpace(string(out))
	var answer struct {
		Columns []string
		Rows    []json.RawMessage
	}
	var types []column
	if strings.HasPrefix(text, "[") {
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&types); err != nil {
			return nil, fmt.Errorf("output of DuckDB: %w", err)
		}
		for _, c := range types {
			answer.Columns = append(answer.Columns, c.Name)
		}
		rest := strings.TrimSpace(text[d.InputOffset():])
		if rest == "" || strings.HasPrefix(rest, "[{]") {
			rest = "[]"
		}
		text = `{"rows":` + rest + "}"
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("output of DuckDB: %w", err)
	}
	r := &Result{Columns: answer.Columns}
	for _, raw := range answer.Rows {
		if err := r.add(raw); err != nil {
			return nil, fmt.Errorf("output of DuckDB: %w", err)
		}
	}
	r.unquote(types)
	return r, nil
}

// unquote turns the strings of some columns into the numbers that they are.
func (r *Result) unquote(types []column) {
	for c := range types {
		if !types[c].isQuoted() {
			continue
		}
		for _, row := range r.Rows {
			if text, ok := row[c].(string); ok && json.Valid([]byte(text)) {
				row[c] = json.Number(text)
			}
		}
	}
}

// add adds a row, and takes the names of columns from the first one.
func (r *Result) add(object json.RawMessage) error {
	d := json.NewDecoder(strings.NewReader(string(object)))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("a row is %s, want an object", object)
	}
	var names []string
	var row []any
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		names, row = append(names, fmt.Sprint(name)), append(row, value)
	}
	if r.Columns == nil {
		r.Columns = names
	}
	if !slices.Equal(r.Columns, names) {
		return fmt.Errorf("a row has the columns %s, want %s", strings.Join(names, ", "), strings.Join(r.Columns, ", "))
	}
	r.Rows = append(r.Rows, row)
	return nil
}
