package expand

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const recorded = "v 10400 3\nX ./a b\nI 1000 100\ns 4 main\ni 1000 0 1 0 0\nt 1 0\na 10 1\n+ 0\nc 64\nR 5\n+ 0\nc c8\nR 6\n"

// expand expands a file with this content.
func expand(t *testing.T, name, content string, o Options) (*Expanded, error) {
	t.Helper()
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	files := fstest.MapFS{name: {Data: []byte(content), ModTime: modified}}
	e, err := Expand(File{files, name, filepath.Join("dir", name)}, o)
	if e != nil {
		t.Cleanup(func() { e.Spool.Close() })
	}
	return e, err
}

func TestTooManySnapshots(t *testing.T) {
	w := writer{file: File{Path: "massif.out.1"}, snapshots: make([]recording.Snapshot, maxSnapshots)}
	err := w.snapshot(recording.Snapshot{})
	require.EqualError(t, err, "massif.out.1: more than 65536 snapshots in one file are not read")
}

// TestFiles: a recording becomes profiles and a manifest, whose last time is that of the file.
func TestFiles(t *testing.T) {
	e, err := expand(t, "heaptrack.a.4711.zst", recorded, Options{})
	require.NoError(t, err)
	require.Equal(t, 4711, e.PID)
	require.Empty(t, e.Warnings)
	require.Equal(t, []string{"dir/heaptrack.a.4711.zst#1", "dir/heaptrack.a.4711.zst#2"}, e.Paths)
	for i, path := range e.Paths {
		f, err := e.Spool.Open(path)
		require.NoError(t, err)
		p, err := profile.Parse(f)
		require.NoError(t, err)
		n := int64(i + 1)
		require.Equal(t, []int64{n, 16 * n, n, 16 * n}, p.Sample[0].Value)
	}
	f, err := e.Spool.Open("dir/" + manifest.Name)
	require.NoError(t, err)
	m, err := manifest.Read(f, manifest.Name)
	require.NoError(t, err)
	start := time.Date(2026, 1, 2, 3, 4, 4, 8e8, time.UTC)
	require.Equal(t, &manifest.Recording{Started: start, Command: []string{"./a", "b"}, Engine: "heaptrack", Version: "1.4.0"}, m.Recording)
	require.Equal(t, []manifest.Process{{PID: 4711, Started: start, Command: []string{"./a", "b"}}}, m.Processes)
	rss := []int64{5 << 12, 6 << 12}
	require.Equal(t, []manifest.Snapshot{
		{File: "heaptrack.a.4711.zst#1", Time: start.Add(1e8), PID: 4711, Trigger: "time", RSS: &rss[0]},
		{File: "heaptrack.a.4711.zst#2", Time: start.Add(2e8), PID: 4711, Trigger: "time", RSS: &rss[1]},
	}, m.Snapshots)
}

// TestOthers: what is no recording, or cannot be read, is left to the reader of snapshots.
func TestOthers(t *testing.T) {
	for _, content := range []string{"", "v", "v x\n", "vv 1\n", "heap profile: 0: 0 [0: 0] @ heapprofile\n", "desc\n", "\x1f\x8b"} {
		e, err := expand(t, "a", content, Options{})
		require.NoError(t, err)
		require.Nil(t, e, "%q", content)
	}
	e, err := Expand(File{infile.FS{}, t.TempDir(), "a"}, Options{})
	require.NoError(t, err)
	require.Nil(t, e)
}

func TestErrors(t *testing.T) {
	_, err := expand(t, "a", recorded+"+ 9\n", Options{})
	require.EqualError(t, err, "dir/a:14: kind of allocation 9 does not exist: the recording is damaged")

	enough := errors.New("that is enough")
	for allowed := range 3 { // at the beginning, and before each snapshot
		calls := 0
		_, err = expand(t, "a", recorded, Options{Check: func(int64) error {
			if calls++; calls > allowed {
				return enough
			}
			return nil
		}})
		require.ErrorIs(t, err, enough, "%d calls", allowed)
	}
	t.Setenv("TMPDIR", "/nowhere/at/all")
	_, err = expand(t, "a", recorded, Options{})
	require.EqualError(t, err, "dir/a: cannot be expanded: temporary file in /nowhere/at/all (TMPDIR): no such file or directory")
}

// TestUntimed: without times, the manifest has none.
func TestUntimed(t *testing.T) {
	name := filepath.Join(testutil.Data(t, "traces"), "massif.out.defaults.gz")
	e, err := Expand(File{infile.FS{}, name, "massif.out.defaults.gz"}, Options{})
	require.NoError(t, err)
	defer e.Spool.Close()
	require.Greater(t, len(e.Paths), 10)
	_, err = e.Spool.Open(manifest.Name)
	require.Error(t, err)
}

func TestPID(t *testing.T) {
	for name, want := range map[string]int{
		"heaptrack.a.4711.zst": 4711, "heaptrack.a.4711.raw.zst": 4711, "/x.1/heaptrack.b.gz": 0, "massif.out.12": 12,
		"massif.out.12.gz": 12, "massif.out": 0, "heaptrack.99999999999.gz": 0, "a.-1": 0, "": 0,
	} {
		require.Equal(t, want, pidOf(name), name)
	}
}

// TestFewSnapshots: as many snapshots as asked for.
func TestFewSnapshots(t *testing.T) {
	long := recorded
	for i := range 1000 {
		long += fmt.Sprintf("+ 0\nc %x\n", 300+i)
	}
	for want, o := range map[int]Options{48: {}, 7: {Snapshots: 7}} {
		e, err := expand(t, "a", long, o)
		require.NoError(t, err)
		require.Len(t, e.Paths, want)
	}
}

// FuzzExpand: google/pprof's parser and that of snapshots read the same from what is written.
func FuzzExpand(f *testing.F) {
	f.Add(recorded)
	f.Add("v 10400 3\nx 4 /a.o\nm 1 -\nm 1 x 1000 0 100\nt 1010 0\nt 1020 1\n+ 8 2 10\nc 1\n- 10\n+ 9 1 10\nc 2\nR 1\n")
	f.Add("desc: x\ncmd: a\ntime_unit: ms\ntime=1\nmem_heap_B=9\nheap_tree=detailed\nn2: 9 (heap)\n" +
		" n0: 5 0x1: f(int) (a.c:1)\n n0: 4 in 2 places, all below massif's threshold (1.00%)\n")
	f.Fuzz(func(t *testing.T, content string) {
		e, err := Expand(File{fstest.MapFS{"a": {Data: []byte(content)}}, "a", "a"}, Options{Snapshots: 5})
		if e == nil || err != nil {
			require.Nil(t, e)
			return
		}
		defer e.Spool.Close()
		for _, path := range e.Paths {
			in, err := e.Spool.Open(path)
			require.NoError(t, err)
			p, err := profile.Parse(in)
			require.NoError(t, err)
			var want int64
			for _, s := range p.Sample {
				want += s.Value[len(s.Value)-1]
			}
			s, err := new(heapfile.Decoder).ReadFile(e.Spool, path, path)
			require.NoError(t, err)
			require.Equal(t, want, s.Heap().InuseBytes)
		}
	})
}

// TestPositions: a recording without times has positions on its own axis, whose mean distance is 1.
func TestPositions(t *testing.T) {
	tree := func(n, at int) string {
		return fmt.Sprintf("snapshot=%d\ntime=%d\nmem_heap_B=5\nheap_tree=detailed\nn0: 5 (heap)\n", n, at)
	}
	for unit, want := range map[string][]float64{"B": {0, 0.5, 2}, "ms": nil} {
		text := "desc: (none)\ncmd: x\ntime_unit: " + unit + "\n" + tree(0, 100) + tree(1, 125) + tree(2, 200)
		e, err := expand(t, "massif.out.7", text, Options{})
		require.NoError(t, err)
		require.Equal(t, want, e.Positions)
	}
}
