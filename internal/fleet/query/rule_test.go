package query_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/fleet/query"
	fleetrows "github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	"github.com/heaplapse/heaplapse/internal/fleet/verdict"
)

// TestConstantsHaveOnePlace: the questions contain the constants of the rule, and no placeholder is left.
func TestConstantsHaveOnePlace(t *testing.T) {
	for _, q := range query.Questions() {
		for _, engine := range query.Engines {
			text, err := query.Text(q, engine, "tables")
			require.NoError(t, err)
			require.NotContains(t, text, "${", q.Name)
		}
	}
	q, err := query.Find("leaks")
	require.NoError(t, err)
	text, err := query.Text(q, "duckdb", "tables")
	require.NoError(t, err)
	rule := fmt.Sprintf("l.parts >= 4096e0 * %v * l.hosts AND l.gains >= %d * l.hosts",
		verdict.Chosen.Least, verdict.Chosen.Gained)
	require.Contains(t, text, rule)
}

// TestMixturesAreTold: every question that compares or averages runs tells what they differ in, and how many
// hosts are missing.
func TestMixturesAreTold(t *testing.T) {
	for _, q := range query.Questions() {
		text, err := query.Text(q, "duckdb", "tables")
		require.NoError(t, err)
		switch q.Name {
		case "coverage": // counts them
			for _, column := range []string{"formats", "periods", "models", "hosts_missing"} {
				require.Contains(t, text, " AS "+column)
			}
		case "memory-limit": // a row is one process
		default:
			_, outer, _ := strings.Cut(text, "\nSELECT ")
			require.Contains(t, outer, "AS mixed\nFROM", q.Name)
			require.Contains(t, outer, "hosts_missing AS hosts_missing", q.Name)
		}
	}
}

// fleet is a simulated service, with two builds on some hosts and several processes on others.
type fleet struct {
	dir   string
	cells map[string]map[string][]verdict.Host // by build and site, for each host of the cell
	units map[string][]string                  // by build, the hosts
}

// duckDB returns the DuckDB that a test uses.
func duckDB(t *testing.T) string {
	t.Helper()
	path := os.Getenv("HEAPLAPSE_DUCKDB_PYTHON")
	if path == "" {
		t.Skip("needs DuckDB, as a Python package: make fleet-check installs it and runs this test")
	}
	return path
}

const (
	siteCount = 60
	fleetName = "shop"
)

// random writes the tables of a service with random confidences.
func random(t *testing.T, seed uint64) *fleet {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &fleet{dir: t.TempDir(), cells: map[string]map[string][]verdict.Host{}, units: map[string][]string{}}
	hosts := 2 + rng.IntN(12)
	for h := range hosts {
		build := fmt.Sprintf("b%d", rng.IntN(2))
		if f.cells[build] == nil {
			f.cells[build] = map[string][]verdict.Host{}
		}
		n := len(f.units[build])
		f.units[build] = append(f.units[build], fmt.Sprint(h))
		processes := 1 + rng.IntN(3)
		for p := range processes {
			e := exportOf(h, p, build)
			for k := range siteCount {
				if rng.IntN(4) == 0 {
					continue // the process has no such site
				}
				confidence := float64(rng.IntN(4097)) / 4096 * rng.Float64()
				confidence = float64(int(confidence*4096)) / 4096
				gained := rng.Int64N(4<<20) - 1<<19
				e.Sites = append(e.Sites, siteRow(e, k, confidence, gained))
				name := fmt.Sprintf("f%d", k)
				list := f.cells[build][name]
				for len(list) <= n {
					list = append(list, verdict.Host{})
				}
				list[n].Confidence += confidence / float64(processes)
				if confidence > 0 {
					list[n].Gained += gained
				}
				f.cells[build][name] = list
			}
			_, err := table.WriteRun(f.dir, e)
			require.NoError(t, err)
		}
	}
	return f
}

func exportOf(host, process int, build string) *fleetrows.Exported {
	started := int64(1_800_000_000)
	return &fleetrows.Exported{Run: fleetrows.Run{
		Night: "2026-11-22", RunID: fmt.Sprintf("h%d-%d", host, process),
		Service: fleetName, Host: fmt.Sprint(host), BuildID: build,
		Labels: map[string]string{"zone": fmt.Sprint(host % 2)},
		Format: "heap_v2", Status: "judged", Started: &started, Model: "m1",
	}}
}

func siteRow(e *fleetrows.Exported, key int, confidence float64, gained int64) fleetrows.Site {
	return fleetrows.Site{
		Night: e.Run.Night, RunID: e.Run.RunID, Service: fleetName, Host: e.Run.Host, BuildID: e.Run.BuildID,
		SiteKey: int64(1000 + key), KeyKind: "function", Function: fmt.Sprintf("f%d", key),
		Label: "stable", Confidence: confidence, Gained: gained,
	}
}

// TestQuestionIsTheRule compares the rows of the question leaks with the rule in Go.
func TestQuestionIsTheRule(t *testing.T) {
	path := duckDB(t)
	q, err := query.Find("leaks")
	require.NoError(t, err)
	found := 0
	for seed := range uint64(8) {
		f := random(t, seed)
		want := map[string]bool{}
		for build, sites := range f.cells {
			for name, list := range sites {
				for len(list) < len(f.units[build]) {
					list = append(list, verdict.Host{})
				}
				// The question rounds the mean over the processes of a host down to 1/4096.
				for i := range list {
					list[i].Confidence = float64(int(list[i].Confidence*4096+1e-6)) / 4096
				}
				if verdict.Chosen.Leaks(list) {
					want[build+" "+name] = true
				}
			}
		}
		result, err := query.DuckDB(t.Context(), q, f.dir, path)
		require.NoError(t, err)
		got := map[string]bool{}
		for _, row := range result.Rows {
			got[fmt.Sprint(row[1], " ", row[3])] = true
			require.Equal(t, "no", row[len(row)-1])
			require.Equal(t, json.Number("0"), row[len(row)-2])
		}
		require.Equal(t, want, got, "seed %d", seed)
		found += len(want)
	}
	require.Positive(t, found)
}
