package discover

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// put writes empty files to a directory. A name with a slash is in a directory below it.
func put(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	return dir
}

// TestAdd: which files are found at a path, relative to a directory, and whether the user named them.
func TestAdd(t *testing.T) {
	dir := put(t, "p.0001.heap", "p.0002.heap.gz", "pq.0001.heap", "p_7.0003.heap", "notes.txt", "run-1/a.0001.heap", "run-2/readme")
	for path, c := range map[string]struct {
		want  string
		named bool
	}{
		"":             {"p.0001.heap p.0002.heap.gz p_7.0003.heap pq.0001.heap", false},
		"p":            {"p.0001.heap p.0002.heap.gz p_7.0003.heap", false},
		"p*1.heap":     {"p.0001.heap pq.0001.heap", false},
		"run-*":        {"run-1/a.0001.heap", false},
		"run-1":        {"run-1/a.0001.heap", false},
		"notes.txt":    {"notes.txt", true},
		"p.0001.heap":  {"p.0001.heap", true},
		"p.0002.heap":  {"p.0002.heap.gz", true}, // record has compressed it
		"run-1/a*":     {"run-1/a.0001.heap", false},
		"./run-1/../p": {"p.0001.heap p.0002.heap.gz p_7.0003.heap", false},
	} {
		t.Run(path, func(t *testing.T) {
			var found Finder
			require.NoError(t, found.Add(dir+"/"+path))
			var got []string
			for _, f := range found.Files {
				relative, err := filepath.Rel(dir, f.Path)
				require.NoError(t, err)
				got = append(got, relative)
				require.Equal(t, c.named, f.Named)
				require.Equal(t, f.Path, f.Entry)
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// TestNothingFound: the error says what to do.
func TestNothingFound(t *testing.T) {
	dir := put(t, "runs/a.0001.heap", "empty/notes.txt", "base/x.baseline.json.gz")
	for path, want := range map[string]string{
		dir:              "but below it: name one of " + filepath.Join(dir, "runs"),
		dir + "/empty":   "no heap snapshots in this directory (*.heap",
		dir + "/base":    "but baselines: gate compares a run with them",
		dir + "/rums":    "did you mean " + dir + "/runs?",
		dir + "/zzzzzzz": "record a program first",
		dir + "/q*":      "match this pattern: check the path",
	} {
		var found Finder
		err := found.Add(path)
		require.ErrorIs(t, err, ErrNoSnapshots, path)
		require.ErrorContains(t, err, path+": ")
		require.ErrorContains(t, err, want)
		require.Empty(t, found.Files)
	}
	require.ErrorContains(t, new(Finder).Add(""), "a PATH is empty")
	require.ErrorContains(t, new(Finder).Add(dir+"/[*"), "not a valid pattern")
}

// TestStandardInput is copied, because it is read several times.
func TestStandardInput(t *testing.T) {
	found := Finder{Stdin: strings.NewReader("heap profile: …")}
	require.NoError(t, found.Add("-"))
	require.Len(t, found.Spool, 1)
	t.Cleanup(func() { _ = found.Spool[0].Close() })
	f := found.Files[0]
	require.Equal(t, "standard input", f.Path)
	require.True(t, f.Named)
	for range 2 {
		file, err := f.FS.Open(f.Entry)
		require.NoError(t, err)
		text, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, "heap profile: …", string(text))
	}
	require.EqualError(t, new(Finder).Add("-"), "standard input: not available here")
}

// TestCompressedMeanwhile: a file that record has compressed since it was found is read all the same.
func TestCompressedMeanwhile(t *testing.T) {
	dir := put(t, "p.0001.heap")
	var found Finder
	require.NoError(t, found.Add(dir))
	require.NoError(t, os.Rename(dir+"/p.0001.heap", dir+"/p.0001.heap.gz"))
	f := found.Files[0]
	file, err := f.FS.Open(f.Entry)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, os.Remove(dir+"/p.0001.heap.gz"))
	_, err = f.FS.Open(f.Entry)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestEntries of an archive have another name in it. Their file systems can be compared.
func TestEntries(t *testing.T) {
	in := Comparable(fstest.MapFS{"1": {Data: []byte("x")}})
	var found Finder
	found.AddEntry(in, "1", "/srv/p_7.0002.heap", true)
	f := found.Files[0]
	require.Equal(t, 2, f.Name.Seq)
	require.Equal(t, 7, f.Name.PID)
	require.True(t, f.FS == in)
	text, err := fs.ReadFile(f.FS, f.Entry)
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
}
