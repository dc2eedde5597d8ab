//go:build linux

package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// Interpreters that run at the same time, from 3.12 on with a lock each: what each of them keeps has
// its line. What an interpreter kept that has ended is not in use. Up to 3.9, the line is the one that
// runs an interpreter in another thread than the one that made it.
func TestPythonSubinterpreters(t *testing.T) {
	script, err := filepath.Abs("testdata/subinterpreters.py")
	require.NoError(t, err)
	const count, bytes, oldest = 1000, 1000 * 200, 10
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1", []string{"PYTHONWARNINGS=ignore"}, p.path, script, fmt.Sprint(count))
			require.Empty(t, r.problems)
			got := r.byLine()
			within(t, got[line{script, marks(t, script)["main"], "main"}], bytes)
			for i := range 4 {
				if p.minor >= oldest {
					within(t, got[line{fmt.Sprintf("keep %d.py", i), 6, "keep"}], bytes)
				}
			}
			if p.minor < oldest {
				require.GreaterOrEqual(t, got[line{script, marks(t, script)["run"], "run"}], int64(4*bytes))
			}
			for i := range 2 {
				require.LessOrEqual(t, got[line{fmt.Sprintf("ended %d.py", i), 6, "keep"}], int64(bytes/100))
			}
		})
	}
}

// within checks that a line of a Python program has what it keeps. Small objects of the interpreter
// may be allocated on the same line.
func within(t *testing.T, got int64, want int64) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+want/50)
}

// Greenlets move parts of the C stack: each has its own lines, and those of its callers.
func TestPythonGreenlets(t *testing.T) {
	script, err := filepath.Abs("testdata/greenlets.py")
	require.NoError(t, err)
	distribution := pythonAt(t, testutil.Need(t, "/usr/bin/python3"))
	list := pythons(t)
	if !slices.Contains(list, distribution) {
		list = append(list, distribution)
	}
	for _, p := range list {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			if err := exec.Command(p.path, "-c", "import greenlet").Run(); err != nil {
				if p == distribution {
					testutil.Missing(t, "python3-greenlet")
				}
				t.Skip("this interpreter has no greenlet: pip install greenlet")
			}
			checkGreenlets(t, recordPython(t, "period=1", nil, p.path, script, "1000"), script)
		})
	}
}

func checkGreenlets(t *testing.T, r pythonRun, script string) {
	t.Helper()
	require.Empty(t, r.problems)
	const least, most = 999 * 200, 1010 * 200 // the last one of a greenlet that is not resumed is missing
	callers := map[string][]string{"first": {"inner", "first"}, "second": {"key", "second"}, "thread": {"deep", "deep"}}
	got := r.byLine()
	for name, at := range marks(t, script) {
		l := line{script, at, callers[name][0]}
		require.GreaterOrEqual(t, got[l], int64(least), name)
		require.LessOrEqual(t, got[l], int64(most), name)
		for _, s := range r.snapshot.Samples {
			if frames := r.stack(s); len(frames) > 0 && frames[0] == l {
				require.Equal(t, callers[name][1], frames[1].function, name)
			}
		}
	}
}

// Interpreters of other versions, and free-threaded ones, run as without the engine. It records their
// C functions, and says why it records no lines.
func TestPythonRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "threads.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import os, threading
kept = []
def keep():
    for i in range(20000):
        kept.append(bytearray(100))
        [str(k) for k in range(10)]
threads = [threading.Thread(target=keep) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(kept) == 80000
os._exit(0)
`), 0o644))
	found := false
	for _, p := range interpreters(t) {
		if p.isSupported() {
			continue
		}
		found = true
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1", nil, p.path, script)
			require.Len(t, r.problems, 1)
			reason := "is not one of the supported versions, 3.8 to 3.14"
			if p.free && p.minor <= 14 {
				reason = "is a free-threaded build"
			}
			require.Contains(t, r.problems[0], fmt.Sprintf(
				`"kind":"python-refused","count":1,"detail":"Python frames are not recorded: CPython 3.%d %s"`, p.minor, reason))
			require.Empty(t, r.byLine())
			require.Greater(t, r.snapshot.Total.InuseBytes, int64(80000*100))
		})
	}
	if !found {
		t.Skip("no interpreter is refused: pyenv has no other version than 3.8 to 3.14, and no free-threaded one")
	}
}
