package query_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/fleet/query"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestQuestionsSayWhoAsks: each has a title, who asks it, and what a row is.
func TestQuestionsSayWhoAsks(t *testing.T) {
	all := query.Questions()
	require.Len(t, all, 9)
	for _, q := range all {
		text, err := query.Text(q, "duckdb", "tables")
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(q.Title, "?"), q.Title)
		require.Contains(t, text, "-- "+q.Title+"\n-- Asked by: ")
		require.Contains(t, text, "\n-- A row is ")
	}
}

// TestTextForEachEngine: the tables come before the question, and the directory is in its place.
func TestTextForEachEngine(t *testing.T) {
	q, err := query.Find("leaks")
	require.NoError(t, err)
	for _, engine := range query.Engines {
		text, err := query.Text(q, engine, "s3://bucket/tables")
		require.NoError(t, err)
		require.Contains(t, text, "s3://bucket/tables/sites", engine)
		require.NotContains(t, text, "${")
		for _, table := range []string{"runs", "sites", "aliases", "run_labels", "known_sites"} {
			require.Regexp(t, `(?i)(VIEW|TABLE) `+table+`\s`, text, engine)
		}
		require.True(t, strings.HasSuffix(text, ";\n"))
	}
	_, err = query.Text(q, "duckdb", "it's")
	require.ErrorContains(t, err, "quote")
}

func TestUnknownQuestion(t *testing.T) {
	_, err := query.Find("leak")
	require.ErrorContains(t, err, `no question "leak"; there are blast-radius, build-against-previous, coverage, `)
}

// tables is a directory with a file of each table. What they contain does not matter to a fake engine.
func tables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, table := range []string{"runs", "sites", "aliases"} {
		folder := filepath.Join(dir, table, "night=2026-11-22")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		testutil.WriteFile(t, filepath.Join(folder, "a.parquet"), "", 0o644)
	}
	return dir
}

// engine is a program that stands for DuckDB: it keeps its input and prints output.
func engine(t *testing.T, name, output string, status int) (path, input string) {
	t.Helper()
	testutil.Linux(t)
	dir := t.TempDir()
	path, input = filepath.Join(dir, name), filepath.Join(dir, "input")
	if name == "duckdb" && strings.HasPrefix(output, "[{") && output != columns {
		output = columns + output
	}
	testutil.WriteFile(t, filepath.Join(dir, "output"), output, 0o644)
	script := "#!/bin/sh\ncat > " + input + "\necho \"$*\" >> " + input + "\ncat " + filepath.Join(dir, "output") + "\n"
	if status != 0 {
		script += "echo 'Error: it is broken' >&2\nexit 3\n"
	}
	testutil.WriteFile(t, path, script, 0o755)
	return path, input
}

const rows = `[{"service":"shop","site_key":9223372036854775807,"host_share":0.5,"gained_bytes":1048576,"note":null},
{"service":"a\u001b[31m,b","site_key":1,"host_share":1.0,"gained_bytes":0,"note":"x"}]`

// columns are those of rows, as the command describes them.
const columns = `[{"column_name":"service","column_type":"VARCHAR","null":"YES"},
{"column_name":"site_key","column_type":"BIGINT"},{"column_name":"host_share","column_type":"DOUBLE"},
{"column_name":"gained_bytes","column_type":"HUGEINT"},{"column_name":"note","column_type":"VARCHAR"}]
`

// TestAnswers: both programs give the same answers, in all formats. Keys keep their digits. The command writes
// sums as strings.
func TestAnswers(t *testing.T) {
	q, err := query.Find("leaks")
	require.NoError(t, err)
	names := `["service","site_key","host_share","gained_bytes","note"]`
	for name, output := range map[string]string{
		"duckdb":  strings.Replace(rows, "1048576", `"1048576"`, 1),
		"python3": `{"columns":` + names + `,"rows":` + rows + `}`,
	} {
		path, input := engine(t, name, output, 0)
		result, err := query.DuckDB(t.Context(), q, tables(t), path)
		require.NoError(t, err)
		asked, err := os.ReadFile(input)
		require.NoError(t, err)
		require.Contains(t, string(asked), q.Title)
		a := query.Answer{Question: q, Result: result}
		var text, csv, object bytes.Buffer
		require.NoError(t, a.Text(&text))
		require.NoError(t, a.CSV(&csv))
		require.NoError(t, a.JSON(&object))
		require.Equal(t, "SERVICE                   SITE KEY  HOST SHARE    GAINED  NOTE\n"+
			"shop           9223372036854775807         0.5  1.00 MiB  -\n"+
			"a\\u001b[31m,b                    1         1.0       0 B  x\n", text.String())
		require.Equal(t, "service,site_key,host_share,gained_bytes,note\nshop,9223372036854775807,0.5,1048576,\n\"a\x1b[31m,b\",1,1.0,0,x\n", csv.String())
		require.Contains(t, object.String(), `"site_key": "9223372036854775807"`)
	}
}

func TestNoRows(t *testing.T) {
	q, err := query.Find("leaks")
	require.NoError(t, err)
	for _, output := range []string{columns, "[{]\n", "[]", `{"columns":["a"],"rows":[]}`} {
		path, _ := engine(t, "duckdb", output, 0)
		result, err := query.DuckDB(t.Context(), q, tables(t), path)
		require.NoError(t, err, output)
		var text bytes.Buffer
		a := query.Answer{Question: q, Result: result}
		require.NoError(t, a.Text(&text))
		require.Equal(t, "no rows: "+q.Title+"\n", text.String())
	}
}

// TestNearest: an answer without rows tells how close the nearest sites come, and what they lack.
func TestNearest(t *testing.T) {
	q, err := query.Find("leaks")
	require.NoError(t, err)
	site := func(name, file string, line any, chance, leaking, processes, gained json.Number) []any {
		return []any{"shop", json.Number("9223372036854775807"), name, file, line, chance, leaking, processes, gained}
	}
	a := query.Answer{Question: q, Result: &query.Result{Columns: []string{"service"}}, Nearest: &query.Result{
		Columns: []string{
			"service", "site_key", "function_name", "file", "line", "mean_confidence", "leaking_processes", "processes",
			"gained_bytes_per_host",
		},
		Rows: [][]any{
			site("handle", "app.py", json.Number("9"), "0.399", "1", "4", "31457280.0"),
			site("put", "cache.cc", nil, "0.71", "2", "2", "1024"),
			site("evil\x1b[31m", "", nil, "0.0", "0", "1", "12"),
		},
	}}
	var out bytes.Buffer
	require.NoError(t, a.Text(&out))
	require.Equal(t, "no rows: "+q.Title+`
nearest: handle app.py:9 (service shop): chance 39 %, 40 % is required; 1 of 4 processes leaks
nearest: put cache.cc (service shop): chance 71 %; 2 of 2 processes leak; gained 1.00 KiB per host, 1 MiB is required
nearest: evil\u001b[31m (service shop): chance 0 %, 40 % is required; 0 of 1 process leak; gained 12 B per host, 1 MiB is required
`, out.String())
	out.Reset()
	require.NoError(t, a.JSON(&out))
	require.Contains(t, out.String(), `"site_key": "9223372036854775807"`)
	document, err := jsonschema.UnmarshalJSON(&out)
	require.NoError(t, err)
	require.NoError(t, answerSchema(t).Validate(document))

	out.Reset()
	a.Nearest.Rows = nil
	require.NoError(t, a.Text(&out))
	require.Contains(t, out.String(), "\nnearest: none; the question coverage counts the processes that were judged\n")
}

func TestFailures(t *testing.T) {
	q, err := query.Find("leaks")
	require.NoError(t, err)
	path, _ := engine(t, "duckdb", "", 3)
	_, err = query.DuckDB(t.Context(), q, tables(t), path)
	require.ErrorContains(t, err, "duckdb: exit status 3: Error: it is broken")
	for _, output := range []string{"no JSON", "[1]", `[{"a":1},{"b":1}]`, "[", `{"rows":1}`} {
		path, _ = engine(t, "duckdb", output, 0)
		_, err = query.DuckDB(t.Context(), q, tables(t), path)
		require.ErrorContains(t, err, "output of DuckDB", output)
	}
	_, err = query.DuckDB(t.Context(), q, t.TempDir(), path)
	require.ErrorContains(t, err, "no table runs: fleet export writes it")
	t.Setenv("PATH", t.TempDir())
	_, err = query.DuckDB(t.Context(), q, tables(t), "")
	require.ErrorIs(t, err, query.ErrNoDuckDB)
}

func answerSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "docs/schema/fleet-query.schema.json"))
	require.NoError(t, err)
	return schema
}

// TestAnswerMeetsItsSchema validates the JSON against docs/schema.
func TestAnswerMeetsItsSchema(t *testing.T) {
	schema := answerSchema(t)
	q, err := query.Find("leaks")
	require.NoError(t, err)
	for _, output := range []string{"[]", rows} {
		path, _ := engine(t, "duckdb", output, 0)
		result, err := query.DuckDB(t.Context(), q, tables(t), path)
		require.NoError(t, err)
		var out bytes.Buffer
		a := query.Answer{Question: q, Result: result}
		require.NoError(t, a.JSON(&out))
		document, err := jsonschema.UnmarshalJSON(&out)
		require.NoError(t, err)
		require.NoError(t, schema.Validate(document))
	}
}
