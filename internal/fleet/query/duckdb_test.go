package query_test

import (
	"bytes"
	"fmt"
	"os"
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
	limit, started := int64(1<<30), int64(1_800_000_000)
	for host := range 10 {
		slope := int64(1 << 20)
		e := &fleetrows.Exported{Run: fleetrows.Run{
			Night: "2026-11-22", RunID: fmt.Sprintf("web-%d-1-abc", host), Service: "shop", Host: fmt.Sprintf("web-%d", host), BuildID: "b1",
			Labels: map[string]string{"canary": map[bool]string{true: "yes", false: "no"}[host < 5]}, Format: "heap_v2", Status: "judged",
			Snapshots: 48, Started: &started, RSS: &limit, RSSSlope: &slope, Limit: &limit, Model: "m1",
		}}
		for key, leaks := range map[string]bool{"leaks": host < 8, "chance": host == 3, "canary": host < 5, "stable": false} {
			s := fleetrows.Site{
				Night: e.Run.Night, RunID: e.Run.RunID, Service: "shop", Host: e.Run.Host, BuildID: "b1",
				SiteKey: 9_000_000_000_000_000_000 + int64(len(key)*256) + int64(key[0]), KeyKind: "function", Function: key, Label: "stable", Level: 1 << 20, Slope: new(int64),
			}
			if leaks {
				s.Label, s.Confidence, s.Gained, s.Slope = "leak", 0.875, 24<<20, &slope
			}
			e.Sites = append(e.Sites, s)
		}
		_, err := table.WriteRun(dir, e)
		require.NoError(t, err)
	}
	return dir
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
