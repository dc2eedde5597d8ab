package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// TestEveryFunctionIsJudged checks that the result contains every function that appears in the
// files, and that the tables do not depend on the number of jobs.
func TestEveryFunctionIsJudged(t *testing.T) {
	var tables [2]string
	for k, jobs := range []int{1, 3} {
		all, err := forAll([]uint64{1, 7, 8, 10, 11}, []uint64{8}, jobs, func(seed uint64, n int) ([]outcome, error) {
			return inScratch(leaksim.Simulate(seed, n, leaksim.Plain), "")
		})
		require.NoError(t, err)
		for _, o := range all {
			shown := false
			for _, b := range o.Observed.Bytes {
				shown = shown || b > 0
			}
			require.False(t, shown && o.label == "", "%s of seed %d has no label", o.Name, o.Seed)
		}
		text := &checked{w: io.Discard}
		writeTables(text, options{}, all, all)
		require.NoError(t, text.err)
		path := filepath.Join(t.TempDir(), "csv")
		require.NoError(t, writeFile(path, func(w io.Writer) { writeTables(w, options{}, all, all); writeCSV(w, all) }))
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		tables[k] = string(written)
	}
	require.Equal(t, tables[0], tables[1])
}
