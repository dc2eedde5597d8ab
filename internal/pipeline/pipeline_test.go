package pipeline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// collecting returns a pipeline and the notices that it reports.
func collecting(t *testing.T) (*pipeline.Pipeline, *[]pipeline.Notice) {
	var notices []pipeline.Notice
	return &pipeline.Pipeline{
		Tell: func(n pipeline.Notice) { notices = append(notices, n) },
	}, &notices
}

// kinds returns how many notices of each kind there are.
func kinds(notices []pipeline.Notice) map[pipeline.NoticeKind]int {
	out := map[pipeline.NoticeKind]int{}
	for _, n := range notices {
		out[n.Kind]++
	}
	return out
}

func leaky(t *testing.T) *pipeline.Source {
	return &pipeline.Source{Symbols: symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")}}
}

func TestWarningsOfOneKindAreOneNotice(t *testing.T) {
	p, notices := collecting(t)
	in, err := p.Open([]string{testutil.Data(t, "python")}, &pipeline.Source{Strict: true}, nil)
	require.NoError(t, err)
	in.Close()
	require.Len(t, *notices, 2)
	for _, n := range *notices {
		require.Equal(t, pipeline.SeriesWarning, n.Kind)
		require.Equal(t, pipeline.StrictWarning, n.Severity)
		require.Regexp(t, "and 10 more files$", n.Text)
	}
	require.NotEqual(t, (*notices)[0].Key(), (*notices)[1].Key())

	p, notices = collecting(t)
	p.Verbose = true
	in, err = p.Open([]string{testutil.Data(t, "python")}, &pipeline.Source{}, nil)
	require.NoError(t, err)
	in.Close()
	require.Len(t, *notices, 22)
	keys := map[string]bool{}
	for _, n := range *notices {
		require.Equal(t, pipeline.Warning, n.Severity)
		keys[n.Key()] = true
	}
	require.Len(t, keys, 22)
}

// TestUnusableFiles: the severity depends on whether the user named the file. A live pipeline
// ignores a file that changes.
func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	content, err := os.ReadFile(testutil.Data(t, "leaky/leaky.0002.heap.gz"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.0001.heap.gz"), content, 0o600))
	bad := filepath.Join(dir, "p.0002.heap")
	require.NoError(t, os.WriteFile(bad, []byte("hello\n"), 0o600))
	for _, c := range []struct {
		paths        []string
		strict, live bool
		old          bool
		want         []pipeline.Severity
	}{
		{paths: []string{dir}, want: []pipeline.Severity{pipeline.Warning}},
		{paths: []string{dir}, strict: true, want: []pipeline.Severity{pipeline.Failure}},
		{paths: []string{bad, filepath.Join(dir, "p.0001.heap.gz")}, want: []pipeline.Severity{pipeline.Failure}},
		{paths: []string{dir}, live: true},
		{paths: []string{dir}, live: true, old: true, want: []pipeline.Severity{pipeline.Warning}},
	} {
		modified := time.Now()
		if c.old {
			modified = modified.Add(-time.Hour)
		}
		require.NoError(t, os.Chtimes(bad, modified, modified))
		p, notices := collecting(t)
		p.Live = c.live
		in, err := p.Open(c.paths, &pipeline.Source{Strict: c.strict}, nil)
		require.NoError(t, err)
		in.Close()
		var got []pipeline.Severity
		for _, n := range *notices {
			if n.Kind == pipeline.UnusableFile {
				require.Contains(t, n.Key(), bad)
				got = append(got, n.Severity)
			}
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestMissingModules(t *testing.T) {
	p, notices := collecting(t)
	in, err := p.Open([]string{testutil.Data(t, "leaky")}, &pipeline.Source{}, nil)
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, p.Resolve(t.Context(), in, symbolize.Options{Sysroot: t.TempDir()}))
	require.Equal(t, map[pipeline.NoticeKind]int{pipeline.MissingModules: 1}, kinds(*notices))
	require.Contains(t, (*notices)[0].Modules, "/opt/leaky/bin/leaky")
}

// TestUnusedDebugFiles: a debug file that the user named and that names nothing is reported.
func TestUnusedDebugFiles(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(plain, []byte("no program"), 0o600))
	program, err := os.ReadFile(testutil.Data(t, "leaky/sysroot/opt/leaky/bin/leaky"))
	require.NoError(t, err)
	same := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.WriteFile(same, program, 0o600))
	for path, want := range map[string]string{
		plain:              "not used: it is no ELF file",
		plain + ".missing": "does not exist",
		same:               "not used: it has no more names than /opt/leaky/bin/leaky",
		testutil.Data(t, "dialects/sysroot/opt/heaplapse/bin/steady"): "which no program or library of the snapshots has",
		t.TempDir(): "",
	} {
		p, notices := collecting(t)
		in, err := p.Open([]string{testutil.Data(t, "leaky")}, &pipeline.Source{}, nil)
		require.NoError(t, err)
		defer in.Close()
		o := leaky(t).Symbols
		o.DebugDirs = []string{path}
		require.NoError(t, p.Resolve(t.Context(), in, o))
		if want == "" {
			require.Empty(t, *notices)
			continue
		}
		require.Len(t, *notices, 1, path)
		require.Contains(t, (*notices)[0].Text, want)
	}
}

// TestBundles: a bundle has its own files, also if it comes by standard input. Another zstd file on
// standard input is a snapshot.
func TestBundles(t *testing.T) {
	p, _ := collecting(t)
	contents, err := p.Collect(t.Context(), []string{testutil.Data(t, "leaky")}, leaky(t), "test")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "leaky"+bundle.Suffix)
	size, err := pipeline.WriteBundle(t.Context(), path, atomicfile.Options{}, contents)
	require.NoError(t, err)
	packed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, packed, int(size))

	for _, paths := range [][]string{{path}, {"-"}} {
		p, notices := collecting(t)
		p.Stdin = bytes.NewReader(packed)
		in, err := p.Open(paths, &pipeline.Source{}, nil)
		require.NoError(t, err)
		require.NoError(t, p.Resolve(t.Context(), in, symbolize.Options{}))
		require.Empty(t, *notices)
		require.Len(t, in.Heads, 24)
		names := in.Symbols.Locations
		require.NoError(t, p.Resolve(t.Context(), in, symbolize.Options{Sysroot: "/elsewhere"}))
		require.Empty(t, *notices)
		require.Equal(t, names, in.Symbols.Locations)
		require.NoError(t, in.Close())
	}

	var compressed bytes.Buffer
	z, err := zstd.NewWriter(&compressed)
	require.NoError(t, err)
	_, err = z.Write([]byte("heap profile: 1: 2 [ 1: 2] @ heapprofile\n1: 2 [ 1: 2] @ 0x401000\n\nMAPPED_LIBRARIES:\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	p, _ = collecting(t)
	p.Stdin = &compressed
	in, err := p.Open([]string{"-"}, &pipeline.Source{}, nil)
	require.NoError(t, err)
	require.Equal(t, "standard input", in.Heads[0].Path)
	require.NoError(t, in.Close())

	p, _ = collecting(t)
	_, err = p.Open([]string{path, testutil.Data(t, "leaky")}, &pipeline.Source{}, nil)
	require.ErrorContains(t, err, "a bundle cannot be read together with other PATHs")
}

func TestBundleName(t *testing.T) {
	wd, err := os.Getwd()
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/tmp/heap/": "heap", "/tmp/p.0001.heap.gz": "p.0001", "/tmp/p.*.heap": "p", "/": "heap", ".": filepath.Base(wd), "/tmp/..hidden": "hidden",
	} {
		require.Equal(t, want+bundle.Suffix, pipeline.BundleName(path), path)
	}
}

// TestEnoughSnapshots: the process that is chosen unjudged has as many snapshots as a verdict needs.
func TestEnoughSnapshots(t *testing.T) {
	require.Equal(t, verdict.MinPoints, series.MinSnapshots)
}
