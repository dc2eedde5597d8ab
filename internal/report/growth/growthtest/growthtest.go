// Package growthtest has a report for the tests of packages that show one.
package growthtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Leaky returns the report on the series testdata/leaky, with a manifest that has its process and
// resident set.
func Leaky(t testing.TB) *growthreport.Report {
	t.Helper()
	dir := t.TempDir()
	paths, err := filepath.Glob(testutil.Data(t, "leaky/*.heap.gz"))
	require.NoError(t, err)
	text := fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema) +
		`{"process":{"pid":7,"started":"2026-01-02T03:00:00Z","command":["leaky","名前\u001b[2J"]}}` + "\n"
	for i, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(p)), data, 0o600))
		text += fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-02T03:%02d:00Z","pid":7,"rss_bytes":%d}}`+"\n",
			filename.TrimCompression(filepath.Base(p)), i, (30+i)<<20)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text), 0o600))
	var columns sites.Collector
	s, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")})
	require.NoError(t, err)
	result := growth.Judge(s, symbols, &columns, growth.Options{MinBytes: 1 << 20})
	judged := &pipeline.Judged{Series: s, Symbols: symbols, Result: result}
	process := processes.Judge(s, result, judged.Key)
	judged.Process = &process
	return &growthreport.Report{Judged: judged}
}
