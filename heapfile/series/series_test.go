package series_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// put writes files, by name, into a new directory.
func put(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// heap returns a snapshot of one row, with bytes in use and allocated.
func heap(inuse, alloc int) string {
	c := fmt.Sprintf("1: %d [2: %d]", inuse, alloc)
	return heaptest.Exact(c, c+" @ 0x400001 0x400002")
}

func open(t testing.TB, o series.Options, paths ...string) *series.Series {
	t.Helper()
	s, err := series.Open(paths, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// names returns the base names of the snapshots of a series.
func names(s *series.Series) []string {
	var out []string
	for _, h := range s.Heads {
		out = append(out, filepath.Base(h.Path))
	}
	return out
}

func TestOpenTakesADirectory(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2), "notes.txt": "x"})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.heap"), 0o755))
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap"}, names(s))
	require.Empty(t, s.Problems)
	require.Equal(t, dir, s.Dir())
}

func TestOpenTakesAPrefix(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2), "pq.0001.heap": heap(9, 9), "p.heap": heap(8, 8)})
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap"}, names(open(t, series.Options{}, filepath.Join(dir, "p"))))
}

func TestPrefixFindsTheNamesOfAllAllocators(t *testing.T) {
	for _, name := range []string{
		"p_4711.0001.heap", "p.4711.0.i0.heap", "p.1.4711.0.i0.heap",
		"p.rank-3.0001.heap", "p.rank-3_4711.0001.heap", "p.slurmid-7.0001.heap",
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, map[string]string{name: heap(1, 1)})
			require.Equal(t, []string{name}, names(open(t, series.Options{}, filepath.Join(dir, "p"))))
		})
	}
}

func TestOpenTakesAGlob(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2), "p.0011.heap": heap(3, 3)})
	require.Equal(t, []string{"p.0001.heap", "p.0011.heap"}, names(open(t, series.Options{}, filepath.Join(dir, "p.*1.heap"))))
}

// TestOpenTakesAGlobOfDirectories: directories without snapshots may match, too.
func TestOpenTakesAGlobOfDirectories(t *testing.T) {
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "run-1"), filepath.Join(dir, "run-2")
	require.NoError(t, os.Mkdir(full, 0o755))
	require.NoError(t, os.Mkdir(empty, 0o755))
	testutil.WriteFile(t, filepath.Join(full, "p.0001.heap"), heap(1, 1), 0o644)
	require.Equal(t, []string{"p.0001.heap"}, names(open(t, series.Options{}, filepath.Join(dir, "run-*"))))
	_, err := series.Open([]string{empty + "*"}, series.Options{})
	require.ErrorIs(t, err, series.ErrNoSnapshots)
}

func TestOpenTakesFilesOfAnyName(t *testing.T) {
	dir := put(t, map[string]string{"b": heap(1, 1), "a": heap(2, 2)})
	s := open(t, series.Options{}, filepath.Join(dir, "b"), filepath.Join(dir, "a"))
	require.Equal(t, []string{"b", "a"}, names(s), "without numbers, in the order given")
}

func TestOpenTakesStandardInput(t *testing.T) {
	for form, text := range map[string]string{"plain": heap(7, 7), "gzip": string(testutil.Gzipped(t, heap(7, 7)))} {
		t.Run(form, func(t *testing.T) {
			s := open(t, series.Options{Stdin: strings.NewReader(text)}, "-")
			require.Equal(t, "standard input", s.Heads[0].Path)
			x, err := s.Read(0)
			require.NoError(t, err)
			require.Equal(t, []heapfile.Counts{{InuseObjects: 1, InuseBytes: 7, AllocObjects: 2, AllocBytes: 7}}, []heapfile.Counts{x.Samples[0].Counts})
			require.Equal(t, []heapfile.Addr{0x400001, 0x400002}, x.Stacks.Addrs(x.Samples[0].Stack))
		})
	}
}

func TestErrorsNameStandardInput(t *testing.T) {
	_, err := series.Open([]string{"-"}, series.Options{Stdin: strings.NewReader("")})
	require.ErrorContains(t, err, "standard input: not a heap snapshot: an empty file")
	_, err = series.Open([]string{"-"}, series.Options{})
	require.EqualError(t, err, "standard input: not available here")
}

// TestTheCopyOfStandardInputHasNoName: nothing can be left of it. A manifest in the directory for
// temporary files is not of the snapshot.
func TestTheCopyOfStandardInputHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(`{"schema":"heaplapse.manifest/1"}`+"\n"), 0o600))
	s := open(t, series.Options{Stdin: strings.NewReader(heap(1, 1))}, "-")
	require.Nil(t, s.Manifest)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestPathWithoutSnapshotsIsAnError(t *testing.T) {
	dir := put(t, map[string]string{"notes.txt": "x"})
	for _, path := range []string{dir, filepath.Join(dir, "p"), filepath.Join(dir, "*.heap")} {
		s, err := series.Open([]string{path}, series.Options{})
		require.Nil(t, s)
		require.ErrorIs(t, err, series.ErrNoSnapshots)
		require.ErrorContains(t, err, path+": ")
	}
}

func TestOrderIsByNumber(t *testing.T) {
	dir := put(t, map[string]string{"p.10000.heap": heap(3, 3), "p.10.heap": heap(2, 2), "p.0009.heap": heap(1, 1)})
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.0009.heap", "p.10.heap", "p.10000.heap"}, names(s))
	for i, h := range s.Heads {
		require.Equal(t, i, h.Index)
		require.Equal(t, int64(i+1), h.Total.InuseBytes)
	}
}

func TestJemallocNumbersAllTriggersTogether(t *testing.T) {
	dir := put(t, map[string]string{"p.1.0.i0.heap": heap(1, 1), "p.1.1.u0.heap": heap(1, 1), "p.1.2.i1.heap": heap(1, 1), "p.1.10.f.heap": heap(1, 1)})
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.1.0.i0.heap", "p.1.1.u0.heap", "p.1.2.i1.heap", "p.1.10.f.heap"}, names(s))
	require.Equal(t, []filename.Trigger{filename.TriggerAllocated, filename.TriggerHighWater, filename.TriggerAllocated, filename.TriggerExit}, s.Triggers)
}

func TestFileAndItsCompressedCopyCountOnce(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0001.heap.gz": string(testutil.Gzipped(t, heap(1, 1)))})
	require.Equal(t, []string{"p.0001.heap"}, names(open(t, series.Options{}, dir)))
	require.Len(t, open(t, series.Options{}, dir, filepath.Join(dir, "p.0001.heap")).Heads, 1)
}

// TestFileIsCompressedMeanwhile: a recorder replaces snapshots with their compressed copies while they
// are read.
func TestFileIsCompressedMeanwhile(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2), "p.0003.heap": heap(3, 3)})
	s := open(t, series.Options{}, dir)
	compressed := string(testutil.Gzipped(t, heap(2, 2)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.0002.heap.gz"), []byte(compressed), 0o644))
	require.NoError(t, os.Remove(filepath.Join(dir, "p.0002.heap")))
	var inuse []int64
	for snap, err := range s.All(1) {
		require.NoError(t, err)
		inuse = append(inuse, snap.Total.InuseBytes)
	}
	require.Equal(t, []int64{1, 2, 3}, inuse)

	require.Equal(t, []string{"p.0002.heap.gz"}, names(open(t, series.Options{}, filepath.Join(dir, "p.0002.heap"))))
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap.gz", "p.0003.heap"}, names(open(t, series.Options{}, filepath.Join(dir, "p"))))
}

func processes(t *testing.T) string {
	return put(t, map[string]string{
		"p.0001.heap": heap(10, 10), "p.0002.heap": heap(20, 20), "p.0003.heap": heap(20, 20),
		"p_4711.0001.heap": heap(5, 5), "p_4711.0002.heap": heap(500, 500),
		"q_4712.0001.heap": heap(7, 7),
	})
}

func TestOneOfSeveralProcessesIsSelected(t *testing.T) {
	s := open(t, series.Options{}, processes(t))
	require.Equal(t, []string{"p_4711.0001.heap", "p_4711.0002.heap"}, names(s))
	require.Equal(t, 4711, s.Process.PID)
	require.Equal(t, 4711, s.PID())
	require.Equal(t, 2, s.Process.Files)
	require.Equal(t, int64(500), s.Process.PeakInuse)
	require.Len(t, s.Others, 2)
	w := heaptest.Find(t, s.Warnings, heapfile.WarnManyProcesses)
	require.Contains(t, w.Msg, "reading 4711 with 2 snapshots, because its heap grew most in the later half of its snapshots; ignored: ")
	require.Contains(t, w.Msg, "4712")
	require.True(t, w.Harmless())
}

func TestProcessIsChosenByNumberOrPrefix(t *testing.T) {
	dir := processes(t)
	for want, first := range map[string]string{
		"4712": "q_4712.0001.heap", "4711": "p_4711.0001.heap",
		"p": "p.0001.heap", "q_4712": "q_4712.0001.heap", filepath.Join(dir, "p"): "p.0001.heap",
	} {
		require.Equal(t, first, names(open(t, series.Options{Process: want}, dir))[0], want)
	}
}

func TestErrorForAnUnknownProcessListsTheProcesses(t *testing.T) {
	_, err := series.Open([]string{processes(t)}, series.Options{Process: "99"})
	require.ErrorContains(t, err, `no process "99"; there are: `)
	require.ErrorContains(t, err, "4711")
}

func TestPID0SelectsNoProcess(t *testing.T) {
	_, err := series.Open([]string{processes(t)}, series.Options{Process: "0"})
	require.Error(t, err)
}

func TestOneUnreadableFileIsAProblem(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": "{}", "p.0003.heap": heap(3, 3)})
	bad := filepath.Join(dir, "p.0002.heap")
	for rule, c := range map[string]struct {
		paths []string
		named bool
	}{
		"found in a directory":             {[]string{dir}, false},
		"found by a glob":                  {[]string{filepath.Join(dir, "*.heap")}, false},
		"found by prefix":                  {[]string{filepath.Join(dir, "p")}, false},
		"named":                            {[]string{filepath.Join(dir, "p.0001.heap"), bad}, true},
		"named and found in its directory": {[]string{dir, bad}, true},
	} {
		t.Run(rule, func(t *testing.T) {
			s := open(t, series.Options{}, c.paths...)
			require.NotContains(t, names(s), "p.0002.heap")
			require.Len(t, s.Problems, 1)
			require.Equal(t, bad, s.Problems[0].Path)
			require.Equal(t, c.named, s.Problems[0].Named)
			require.EqualError(t, s.Problems[0], bad+": not a heap snapshot: a JSON file; name the snapshots that the program wrote")
		})
	}
}

func TestUnreadableFileOfAnotherProcessIsAProblem(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(9, 9), "q.0001.heap": heap(1, 1), "q.0002.heap": "{}"})
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.0001.heap"}, names(s))
	require.Len(t, s.Problems, 1)
}

func TestOnlyBadFilesAreAnError(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": "{}", "p.0002.heap": ""})
	s, err := series.Open([]string{dir}, series.Options{})
	require.Nil(t, s)
	require.ErrorContains(t, err, "p.0001.heap: not a heap snapshot: a JSON file; name the snapshots that the program wrote")
	require.ErrorContains(t, err, "p.0002.heap: not a heap snapshot: an empty file")
}

func TestMissingPathIsAProblem(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1)})
	s := open(t, series.Options{}, dir, filepath.Join(dir, "q"))
	require.Len(t, s.Heads, 1)
	require.Len(t, s.Problems, 1)
	require.True(t, s.Problems[0].Named)
	require.ErrorIs(t, s.Problems[0], series.ErrNoSnapshots)
}

func TestErrorOfVisitEndsThePass(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2), "p.0003.heap": heap(3, 3)})
	stop := errors.New("stop")
	calls := 0
	visit := func(*series.Snapshot) error { calls++; return stop }
	_, err := series.Open([]string{dir}, series.Options{Visit: visit})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, calls)
}
