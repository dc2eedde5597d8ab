package symbolize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const framesText = `{"schema":"heaplapse.frames/1","pid":4711,"image":0,"start_ns":1}
{"address":"0x100000000000010","function":"handle","file":"/srv/app.py","line":9}
{"address":"0x100000000000020","function":"[mmap]","file":"","line":0}
`

// scriptSeries returns a series of process 4711 whose stack has lines of a script, and its
// directory.
func scriptSeries(t *testing.T) (*series.Series, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "py_4711.0001.heap")
	text := snapshotText(nil, []uint64{0x100000000000020, 0x100000000000010, 0x100000000000030, 0x100000000000010})
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, dir
}

// TestFramesFilesBesideSnapshots: the lines of scripts are found without a manifest, whether or not
// perf maps are given.
func TestFramesFilesBesideSnapshots(t *testing.T) {
	s, dir := scriptSeries(t)
	require.False(t, resolve(t, s, Options{}).Locations[1].Named())
	zipped := testutil.Gzipped(t, framesText)
	for name, content := range map[string][]byte{
		"py.4711.frames.jsonl": []byte(framesText), "py.4711.2.frames.jsonl": []byte(framesText),
		"py.4711.frames.jsonl.gz": zipped,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		for _, o := range []Options{{}, {PerfMaps: []string{}}} {
			r := resolve(t, s, o)
			require.Empty(t, r.Warnings)
			mapped, handle, unknown := &r.Locations[0], &r.Locations[1], &r.Locations[2]
			require.Equal(t, []Frame{{Function: "handle", File: "/srv/app.py", Line: 9}}, handle.Frames)
			require.Equal(t, SourceFrames, handle.Source)
			require.True(t, handle.Script())
			require.Equal(t, "python", handle.Language())
			require.Equal(t, []Frame{{Function: "[mmap]"}}, mapped.Frames)
			require.False(t, mapped.Script())
			require.False(t, unknown.Named())
		}
		require.False(t, resolve(t, s, Options{Frames: []string{}}).Locations[1].Named(), "no files")
		require.NoError(t, os.Remove(path))
	}
	for _, name := range []string{"py.471.frames.jsonl", "py.47110.frames.jsonl", "other.4711.frames.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(framesText), 0o600))
	}
	require.False(t, resolve(t, s, Options{}).Locations[1].Named(), "files of other processes")
}

// TestLanguages: a frames file names the language of a line.
func TestLanguages(t *testing.T) {
	s, dir := scriptSeries(t)
	text := strings.Replace(framesText, `app.py","line":9`, `app.rb","line":9,"language":"ruby"`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "py.4711.frames.jsonl"), []byte(text), 0o600))
	r := resolve(t, s, Options{})
	require.Equal(t, "", r.Locations[0].Language())
	require.Equal(t, "ruby", r.Locations[1].Language())
	require.True(t, r.Locations[1].Script())
}

// TestManifestListsFramesFiles, which may have any name.
func TestManifestListsFramesFiles(t *testing.T) {
	s, dir := scriptSeries(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "names.jsonl"), []byte(framesText), 0o600))
	s.Manifest = &manifest.Manifest{Files: []manifest.File{{File: "names.jsonl", Kind: manifest.KindFrames, PID: 4711}}}
	require.Equal(t, "handle", resolve(t, s, Options{}).Locations[1].Frames[0].Function)
}

// TestMalformedFramesFile: the lines that can be read are used, and a warning names the others.
func TestMalformedFramesFile(t *testing.T) {
	s, dir := scriptSeries(t)
	path := filepath.Join(dir, "py.4711.frames.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(framesText+"{\n"), 0o600))
	r := resolve(t, s, Options{})
	require.True(t, r.Locations[1].Named())
	require.Len(t, r.Warnings, 1)
	require.ErrorContains(t, r.Warnings[0], "names are missing: "+path+":4: ")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema":"heaplapse.frames/9"}`+"\n"), 0o600))
	r = resolve(t, s, Options{})
	require.False(t, r.Locations[1].Named())
	require.ErrorContains(t, r.Warnings[0], "names not used: "+path+":1: schema ")
}

// TestFileName: the main file of a package is named with its package.
func TestFileName(t *testing.T) {
	for file, want := range map[string]string{
		"/srv/app.py": "app.py", "app.py": "app.py", "/usr/lib/python3.11/json/__init__.py": "json/__init__.py",
		"__init__.py": "__init__.py", "/srv/pkg/__main__.py": "pkg/__main__.py", "<string>": "<string>",
		"<frozen importlib._bootstrap>": "<frozen importlib._bootstrap>", "/src/leaky.cc": "leaky.cc",
	} {
		require.Equal(t, want, FileName(file))
	}
}
