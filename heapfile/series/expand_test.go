package series_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestHeaptrack: the snapshots of a recording of heaptrack have times, memory and a command line, and
// can be read again. The recording is the file of the series.
func TestHeaptrack(t *testing.T) {
	dir := t.TempDir()
	packed, err := os.ReadFile(filepath.Join(testutil.Data(t, "traces"), "heaptrack.shop.zst"))
	require.NoError(t, err)
	path := filepath.Join(dir, "heaptrack.shop.4711.zst")
	require.NoError(t, os.WriteFile(path, packed, 0o600))
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, os.Chtimes(path, end, end))

	s := open(t, series.Options{Snapshots: 10}, dir)
	require.Len(t, s.Heads, 10)
	require.Empty(t, s.Problems)
	require.Empty(t, s.Warnings)
	require.Equal(t, series.ClockManifest, s.Clock.Source)
	require.True(t, end.Equal(s.Clock.Times[9]))
	require.InDelta(t, 24, s.Clock.Span(), 3)
	require.Equal(t, "4711 (/opt/heaplapse/shop 24)", s.Process.Title())
	require.Equal(t, "heaptrack", s.Heads[0].Producer)
	require.Equal(t, filename.TriggerTime, s.Triggers[9])
	for i := range s.Heads {
		rss, ok := s.ResidentAt(i)
		require.True(t, ok)
		require.Greater(t, rss, s.Heads[i].Heap().InuseBytes)
		again, err := s.Read(i)
		require.NoError(t, err)
		require.Equal(t, s.Heads[i].Completeness.Estimate.AllocBytes, sum(again).AllocBytes)
	}
	require.Equal(t, []series.Source{{Path: path, Entry: path}}, s.Sources())
	require.Equal(t, dir, s.Dir())
}

// sum returns the sum of the rows of a snapshot.
func sum(s *series.Snapshot) (out heapfile.Counts) {
	for _, row := range s.Samples {
		out = out.Add(row.Counts)
	}
	return out
}

// TestDamagedRecording: the other files are used.
func TestDamagedRecording(t *testing.T) {
	dir := put(t, map[string]string{"heaptrack.a.1": "v 10400 3\n+ 0\n", "p.0001.heap": heap(1, 1)})
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.0001.heap"}, names(s))
	require.Len(t, s.Problems, 1)
	require.EqualError(t, s.Problems[0],
		filepath.Join(dir, "heaptrack.a.1")+":2: kind of allocation 0 does not exist: the recording is damaged")

	enough := errors.New("that is enough")
	_, err := series.Open([]string{dir}, series.Options{Check: func(int64) error { return enough }})
	require.ErrorIs(t, err, enough)
}

// TestMassifInBytes: without times, the snapshots of a recording are placed by its own unit.
func TestMassifInBytes(t *testing.T) {
	text := "desc: (none)\ncmd: x\ntime_unit: B\n"
	for i, at := range []int{100, 125, 200} {
		text += fmt.Sprintf("snapshot=%d\ntime=%d\nmem_heap_B=5\nheap_tree=detailed\nn0: 5 (heap)\n", i, at)
	}
	path := filepath.Join(t.TempDir(), "massif.out.7")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := open(t, series.Options{}, path)
	require.Equal(t, series.Clock{Source: series.ClockIndex, At: []float64{0, 0.5, 2}}, s.Clock)
}

// TestShortRecording: the times of a recording of two seconds are not taken for those of copied files.
func TestShortRecording(t *testing.T) {
	text := "v 10400 3\nX ./a\nI 1000 100\ns 4 main\ni 1000 0 1 0 0\nt 1 0\na 10 1\n"
	for at := 40; at <= 2000; at += 40 {
		text += fmt.Sprintf("+ 0\nc %x\n", at)
	}
	path := filepath.Join(t.TempDir(), "heaptrack.a.7")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := open(t, series.Options{}, path)
	require.Equal(t, series.ClockManifest, s.Clock.Source)
	require.InDelta(t, 2, s.Clock.Span(), 0.1)
}
