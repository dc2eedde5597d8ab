package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/fleet/query"
	fleetrows "github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
)

// planted writes the tables of a service with ten hosts. The function "leaks" leaks on eight of them,
// "chance" on one, and "canary" on the five that have the label.
func planted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for host := range 10 {
		writeRun(t, dir, plantedRun(host))
	}
	return dir
}

func writeRun(t *testing.T, dir string, e *fleetrows.Exported) {
	t.Helper()
	_, err := table.WriteRun(dir, e)
	require.NoError(t, err)
}

// plantedRun returns the run of one of the hosts.
func plantedRun(host int) *fleetrows.Exported {
	limit, started, slope := int64(1<<30), int64(1_800_000_000), int64(1<<20)
	e := &fleetrows.Exported{Run: fleetrows.Run{
		Night: "2026-11-22", RunID: fmt.Sprintf("web-%d-1-abc", host),
		Service: "shop", Host: fmt.Sprintf("web-%d", host), BuildID: "b1",
		Labels: map[string]string{"canary": map[bool]string{true: "yes", false: "no"}[host < 5]},
		Format: "heap_v2", Period: 512 << 10, Status: "judged", Snapshots: 48, Started: &started,
		RSS: &limit, RSSSlope: &slope, Limit: &limit, Model: "m1",
	}}
	for key, leaks := range map[string]bool{
		"leaks": host < 8, "chance": host == 3, "canary": host < 5, "stable": false,
	} {
		s := fleetrows.Site{
			Night: e.Run.Night, RunID: e.Run.RunID, Service: "shop", Host: e.Run.Host, BuildID: "b1",
			SiteKey: 9_000_000_000_000_000_000 + int64(len(key)*256) + int64(key[0]), KeyKind: "function",
			Function: key, Label: "stable", Level: 1 << 20, Slope: new(int64),
		}
		if leaks {
			s.Label, s.Confidence, s.Gained, s.Slope = "leak", 0.875, 24<<20, &slope
		}
		e.Sites = append(e.Sites, s)
	}
	return e
}

// TestRealDuckDB asks all questions with the command and with the Python package: the answers are the same.
// HEAPLAPSE_DUCKDB and HEAPLAPSE_DUCKDB_PYTHON are the paths of the command and of a Python with the package.
// `make fleet-check` installs both and sets them.
func TestRealDuckDB(t *testing.T) {
	command, python := os.Getenv("HEAPLAPSE_DUCKDB"), os.Getenv("HEAPLAPSE_DUCKDB_PYTHON")
	if command == "" || python == "" {
		t.Skip("needs DuckDB, as a command and as a Python package: make fleet-check installs them and runs this test")
	}
	dir := planted(t)
	answers := map[string]string{}
	for _, q := range query.Questions() {
		var texts []string
		for _, path := range []string{command, python} {
			result, err := query.DuckDB(t.Context(), q, dir, path)
			require.NoError(t, err, "%s: %s", path, q.Name)
			var out bytes.Buffer
			a := query.Answer{Question: q, Result: result}
			require.NoError(t, a.Text(&out))
			texts = append(texts, out.String())
		}
		require.Equal(t, texts[0], texts[1], q.Name)
		answers[q.Name] = texts[0]
	}
	leaks := answers["leaks"]
	require.Contains(t, leaks, " leaks ")
	require.Contains(t, leaks, " canary ")
	require.NotContains(t, leaks, " chance ")
	require.NotContains(t, leaks, " stable ")
	require.Regexp(t, `shop +\d+ +canary +canary +yes +5 +5 +0 +5 `, answers["only-with"])
	require.Equal(t, 1, strings.Count(answers["only-with"], "yes"))
	require.Regexp(t, `shop +10 +0 +10 `, answers["coverage"])
	require.Equal(t, 10, strings.Count(answers["memory-limit"], "\nshop "))
	require.Equal(t, 2, strings.Count(answers["new-known-fixed"], "new "))
}

// TestOneRunOfAnotherKind: one run in ten that is of another kind, or one host that does not report any more,
// is named in each row of an answer. The same rows without it are not called mixed.
func TestOneRunOfAnotherKind(t *testing.T) {
	path := duckDB(t)
	for name, other := range map[string]struct {
		change  func(*fleetrows.Run)
		mixed   string
		missing string
	}{
		"none":   {func(*fleetrows.Run) {}, "no", "0"},
		"model":  {func(r *fleetrows.Run) { r.Model = "m2" }, "models", "0"},
		"format": {func(r *fleetrows.Run) { r.Format = "pprof" }, "formats", "0"},
		"period": {func(r *fleetrows.Run) { r.Period = 256 << 10 }, "periods", "0"},
		"counts": {func(r *fleetrows.Run) { r.HasAlloc = true }, "counts", "0"},
		"host":   {func(r *fleetrows.Run) { r.Night = "2026-11-21" }, "no", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for host := range 10 {
				e := plantedRun(host)
				if host == 9 {
					other.change(&e.Run)
				}
				for i := range e.Sites {
					e.Sites[i].Night = e.Run.Night
				}
				writeRun(t, dir, e)
			}
			for _, question := range []string{"leaks", "new-known-fixed"} { // about one night, and about all
				for _, row := range ask(t, question, dir, path) {
					require.Equal(t, other.mixed, row["mixed"], question)
					require.Equal(t, json.Number(other.missing), row["hosts_missing"], question)
				}
			}
		})
	}
}

// TestUnknownBuildIsNoBuild: a host whose build is not known is no reference for the latest build.
func TestUnknownBuildIsNoBuild(t *testing.T) {
	path, dir := duckDB(t), t.TempDir()
	for host := range 10 {
		e := plantedRun(host)
		if host == 9 {
			e.Run.BuildID = ""
		}
		for i := range e.Sites {
			e.Sites[i].BuildID = e.Run.BuildID
		}
		writeRun(t, dir, e)
	}
	for _, row := range ask(t, "only-with", dir, path) {
		require.Equal(t, "canary", row["label_name"])
	}
}

// TestNearestSite: one of four processes of the only host leaks. That is no leak of the service, and the answer
// names the site.
func TestNearestSite(t *testing.T) {
	path, dir := duckDB(t), t.TempDir()
	for process := range 4 {
		e := plantedRun(3) // leaks and chance leak on this host
		e.Run.RunID = fmt.Sprintf("web-3-%d-abc", process)
		e.Sites = slices.DeleteFunc(e.Sites, func(s fleetrows.Site) bool { return s.Function != "chance" })
		line := int64(9)
		s := &e.Sites[0]
		s.RunID, s.File, s.Line = e.Run.RunID, "app.py", &line
		if process > 0 {
			s.Label, s.Confidence, s.Gained = "suspect", 0.125, 1<<10
		}
		writeRun(t, dir, e)
	}
	q, err := query.Find("leaks")
	require.NoError(t, err)
	a, err := query.Ask(t.Context(), q, dir, path)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, a.Text(&out))
	require.Equal(t, "no rows: "+q.Title+"\n"+
		"nearest: chance app.py:9 (service shop): chance 31 %, 40 % is required; 1 of 4 processes leaks\n", out.String())
}

// TestFilesOfOlderVersions: files without the column line are read beside others, and by themselves.
func TestFilesOfOlderVersions(t *testing.T) {
	path, dir := duckDB(t), t.TempDir()
	writeRun(t, dir, plantedRun(0))
	files, err := filepath.Glob(filepath.Join(dir, "sites", "*", "*.parquet"))
	require.NoError(t, err)
	script := "import duckdb, sys\nduckdb.sql(f\"COPY (SELECT * EXCLUDE (line) FROM read_parquet('{sys.argv[1]}', hive_partitioning = false)) TO '{sys.argv[1]}'\")"
	out, err := exec.Command(path, "-c", script, files[0]).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, row := range ask(t, "leaks", dir, path) {
		require.Nil(t, row["line"])
	}
	e := plantedRun(1)
	line := int64(7)
	for i := range e.Sites {
		e.Sites[i].Line = &line
	}
	writeRun(t, dir, e)
	for _, row := range ask(t, "leaks", dir, path) {
		require.Equal(t, json.Number("7"), row["line"])
	}
}

// ask returns the rows of an answer that has some, by the names of the columns.
func ask(t *testing.T, question, dir, path string) (rows []map[string]any) {
	t.Helper()
	q, err := query.Find(question)
	require.NoError(t, err)
	result, err := query.DuckDB(t.Context(), q, dir, path)
	require.NoError(t, err)
	require.NotEmpty(t, result.Rows, question)
	for _, values := range result.Rows {
		row := map[string]any{}
		for c, name := range result.Columns {
			row[name] = values[c]
		}
		rows = append(rows, row)
	}
	return rows
}
