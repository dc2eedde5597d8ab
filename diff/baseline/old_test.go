package baseline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestOldFilesAreRead reads every baseline in testdata/baselines, which an earlier version
// wrote. Written again, each has the same content: no field is lost or renamed.
func TestOldFilesAreRead(t *testing.T) {
	files, err := filepath.Glob(testutil.Data(t, "baselines", "*", "*"+baseline.Suffix))
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		old, err := os.ReadFile(file)
		require.NoError(t, err)
		run, err := baseline.Read(bytes.NewReader(old), file)
		require.NoError(t, err)
		require.Equal(t, string(content(t, old)), string(content(t, written(t, run))), file)
	}
}

// TestOldSetIsRead checks the values of testdata/baselines/leaky, field by field.
func TestOldSetIsRead(t *testing.T) {
	set, err := baseline.Open(testutil.Data(t, "baselines", "leaky"))
	require.NoError(t, err)
	require.Empty(t, set.Problems)
	require.Len(t, set.Entries, 5)
	require.NotNil(t, set.Reference())

	run := set.Reference().Run
	require.Equal(t, baseline.Meta{
		Name: "20261121T064011Z-2148280ad1ff-042c403a", Recorded: time.Date(2026, 11, 21, 6, 40, 11, 0, time.UTC),
		Workload: "serve", BuildID: "2148280ad1ffe05ff25a10d4bd5f076c178cb956", Program: "leaky", Format: "heapprofile",
		Snapshots: 9, Span: 16, Work: 1000, HasAlloc: true, Labels: map[string]string{"first": "1"},
	}, run.Meta)
	require.Equal(t, baseline.Level{
		Bytes: 14916210, Objects: 8369, Peak: 18751791, Slope: 3405264975, SlopeError: 2050953061.22449,
		AllocBytes: 84778239, AllocObjects: 38312,
	}, run.Total)
	require.Equal(t, baseline.Level{Bytes: 1141603, Objects: 86, AllocBytes: 2531, AllocObjects: 48}, run.Rest)
	require.Len(t, run.Sites, 56)
	site := run.Sites[0]
	require.Len(t, site.Identity.Place, 24)
	require.Contains(t, site.Identity.Frames[site.Identity.Blame], "TileCache")
	require.Equal(t, "geom::TileCache::render", site.Frames[site.Blame].Function)
	require.Equal(t, "/opt/leaky/lib/libshapes.so", site.Frames[site.Blame].Module)

	exit, err := baseline.Open(testutil.Data(t, "baselines", "exit"))
	require.NoError(t, err)
	require.Equal(t, []string{"the last snapshot was left out: the heap had shrunk to less than half, as when a program exits"},
		exit.Entries[0].Run.Meta.Notes)
	sampled, err := baseline.Open(testutil.Data(t, "baselines", "leaky-jemalloc"))
	require.NoError(t, err)
	require.EqualValues(t, 16384, sampled.Entries[0].Run.Meta.Period)
}
