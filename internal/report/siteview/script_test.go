package siteview

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/symbolize"
)

// scripted returns a describer of stacks of a Python process, and their sites. Frames are names of
// the table below.
func scripted(t *testing.T, o Options, stacks ...string) (*Describer, []symbolize.SiteID) {
	t.Helper()
	dir := t.TempDir()
	addresses := map[string]string{"native": "0x401011"}
	frames := `{"schema":"heaplapse.frames/1","pid":7}` + "\n"
	symbols := "--- symbol\nbinary=/srv/ops.so\n"
	for i, f := range []string{"[mmap] ", "handle /srv/app.py", "main /srv/app.py", "get /v/site-packages/requests/api.py", "decode /usr/lib/python3.11/json/__init__.py"} {
		function, file, _ := strings.Cut(f, " ")
		address := fmt.Sprintf("%#x", 1<<56+16*(i+1))
		frames += fmt.Sprintf(`{"address":%q,"function":%q,"file":%q,"line":%d}`+"\n", address, function, file, 9+i)
		addresses[function] = address
	}
	for i, f := range []string{"list_resize", "list_append", "_PyEval_Vector", "LeakyOp::Compute"} {
		addresses[f] = fmt.Sprintf("%#x", 0x402010+16*i)
		if f == "LeakyOp::Compute" {
			addresses[f] = "0x403010"
		}
		symbols += fmt.Sprintf("%s %s\n", addresses[f], f)
	}
	text := "heap profile: 9: 99999 [9: 99999] @ heapprofile/131072\n"
	for _, stack := range stacks {
		text += "1: 4096 [1: 4096] @"
		for _, name := range strings.Split(stack, " ← ") {
			text += " " + addresses[name]
		}
		text += "\n"
	}
	text = symbols + "---\n--- heap\n" + text + "\nMAPPED_LIBRARIES:\n400000-403000 r-xp 00000000 00:00 100 /usr/bin/python3.11\n" +
		"403000-500000 r-xp 00000000 00:00 101 /srv/ops.so\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "py.7.frames.jsonl"), []byte(frames), 0o600))
	return resolved(t, o, filepath.Join(dir, "py_7.0001.heap"), text, len(stacks))
}

// TestLinesOfScripts: the row is the line; callers are lines, without the interpreter between them.
func TestLinesOfScripts(t *testing.T) {
	d, ids := scripted(t, Options{}, "list_resize ← list_append ← handle ← _PyEval_Vector ← main", "decode ← handle ← main", "[mmap] ← handle ← main",
		"LeakyOp::Compute ← _PyEval_Vector ← get ← handle ← main")
	v := d.View(ids[:1])
	require.Equal(t, "handle app.py:10", v.Heading())
	require.Equal(t, Blame{Function: "handle", File: "/srv/app.py", Line: 10}, v.Blame)
	require.Equal(t, "← main app.py:11", v.CallPath(0))
	require.Equal(t, "a Python list grows: something appends to it and never removes", v.Advice(true), "the line is known")
	require.Equal(t, "handle app.py:10", d.View(ids[1:2]).Heading())
	require.Empty(t, d.View(ids[1:2]).Advice(true))
	require.Equal(t, "handle app.py:10 (mmap)", d.View(ids[2:3]).Heading())

	native := d.View(ids[3:])
	require.Equal(t, "LeakyOp::Compute ops.so (called from handle app.py:10)", native.Heading())
	require.Equal(t, &Line{"handle", "/srv/app.py", 10}, native.Blame.Script)
	require.Equal(t, "← get api.py:12 ← handle app.py:10 ← main app.py:11", native.CallPath(0))

	frames := d.Frames(ids[1:2])
	require.Equal(t, FrameJSON{Address: "0x100000000000050", Function: "decode", File: "/usr/lib/python3.11/json/__init__.py", Line: 13, Language: "python"}, frames[0])
}

// TestAdviceOnListsOfALibrary: a list that the line itself does not fill is not its list.
func TestAdviceOnListsOfALibrary(t *testing.T) {
	d, ids := scripted(t, Options{}, "list_resize ← list_append ← decode ← handle", "list_resize ← list_append ← _PyEval_Vector",
		"PyUnicode_New ← list_extend ← handle")
	require.Empty(t, d.View(ids[:1]).Advice(true))
	require.Empty(t, d.View(ids[2:]).Advice(true), "the list takes what an iterator makes")
	require.Equal(t, "a Python list grows: something appends to it and never removes; the built-in engine shows the line",
		d.View(ids[1:2]).Advice(true), "without lines")
}

func TestFilesOfScriptsAreGroups(t *testing.T) {
	for _, by := range []sites.GroupBy{sites.ByFile, sites.ByModule} {
		d, ids := scripted(t, Options{GroupBy: by}, "decode")
		require.Equal(t, "json/__init__.py, most of it decode json/__init__.py:13", d.View(ids).Heading())
	}
}

func TestScriptsOfSummarizedRuns(t *testing.T) {
	v := OfRun(&baseline.Site{Blame: 1, Frames: []symbolize.Frame{
		{Function: "list_resize", Module: "/usr/bin/python3.11"}, {Function: "handle", File: "/srv/app.py", Line: 9},
	}}, 1)
	require.Equal(t, "handle app.py:9", v.Heading())
	require.Empty(t, v.Advice(true))
}
