package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// watched is a running `heaplapse watch` whose standard output is read line by line.
type watched struct {
	*exec.Cmd
	lines  *bufio.Scanner
	errors *os.File // standard error
}

// said returns what it wrote to standard error.
func (w *watched) said() string {
	text, _ := os.ReadFile(w.errors.Name())
	return string(text)
}

func startWatch(t *testing.T, args ...string) *watched {
	t.Helper()
	w := &watched{Cmd: exec.Command("heaplapse", append([]string{"watch"}, args...)...)}
	w.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := w.StdoutPipe()
	require.NoError(t, err)
	w.errors, err = os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	w.Stderr = w.errors
	w.lines = bufio.NewScanner(out)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		_ = w.Process.Kill() // it has ended, unless the test failed
		_ = w.Wait()
		_ = w.errors.Close()
	})
	return w
}

// line returns the next line that it prints.
func (w *watched) line(t *testing.T) string {
	t.Helper()
	require.True(t, w.lines.Scan(), "it ended: %s", w.said())
	return w.lines.Text()
}

// end waits for the end and returns the exit status and the rest of the output.
func (w *watched) end(t *testing.T) (code int, rest string) {
	t.Helper()
	for w.lines.Scan() {
		rest += w.lines.Text() + "\n"
	}
	_ = w.Wait()
	return w.ProcessState.ExitCode(), rest
}

// leakySeries returns the decompressed snapshots of a recorded series.
func leakySeries(t *testing.T) (texts []string) {
	t.Helper()
	paths, err := filepath.Glob(testutil.Data(t, "leaky/*.heap.gz"))
	require.NoError(t, err)
	require.Len(t, paths, 24)
	for _, p := range paths {
		out, err := exec.Command("gzip", "-dc", p).Output()
		require.NoError(t, err)
		texts = append(texts, string(out))
	}
	return texts
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = io.WriteString(f, text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// beWatched gives the watch time to read a file that it should leave out. A passing test does not
// depend on the time.
func beWatched() { time.Sleep(400 * time.Millisecond) }

// TestWatchFollowsASeries: the directory is created later. Files are written at once, in halves, or
// renamed; each counts once, when it is complete. The watch ends when the manifest says that the
// recording has ended.
func TestWatchFollowsASeries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	w := startWatch(t, dir)
	texts := leakySeries(t)[:8]
	beWatched()
	require.NoError(t, os.Mkdir(dir, 0o700))
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1))
		switch i % 3 {
		case 0: // half of it, then the rest
			appendTo(t, path, text[:len(text)/2])
			beWatched()
			appendTo(t, path, text[len(text)/2:])
		case 1: // under another name until it is complete
			appendTo(t, path+".tmp", text)
			beWatched()
			require.NoError(t, os.Rename(path+".tmp", path))
		default:
			appendTo(t, path, text)
		}
		want := fmt.Sprintf("  %12s  heap ", fmt.Sprintf("%d snapshots", i+1))
		if i == 0 {
			want = "    1 snapshot  heap 2.65 KiB  RSS        -  undecided"
		}
		require.Contains(t, w.line(t), want)
	}
	appendTo(t, filepath.Join(dir, manifest.Name), `{"schema":"heaplapse.manifest/1"}`+"\n"+`{"end":{"time":"2026-01-02T03:09:00Z","status":0}}`+"\n")
	code, rest := w.end(t)
	require.Equal(t, exitOK, code)
	require.Empty(t, rest)
	require.Equal(t, "heaplapse: waiting for snapshots in "+dir+"\n", withoutNames(w.said()))
}

// withoutNames removes the warning about files that are not on this machine.
func withoutNames(stderr string) string {
	var out strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "not found, so their functions have no names") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestWatchEndsWithALeak: --fail-on ends the watch with status 1 as soon as there is a leak.
func TestWatchEndsWithALeak(t *testing.T) {
	dir := t.TempDir()
	w := startWatch(t, dir, "--sysroot", testutil.Data(t, "leaky/sysroot"), "--fail-on", "leak", "--min-snapshots", "15")
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, text := range leakySeries(t)[:15] {
		// The verdict needs even intervals. On a busy machine the files are not written at even
		// intervals.
		path := filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1))
		appendTo(t, path+".tmp", text)
		moment := start.Add(time.Duration(i) * time.Minute)
		require.NoError(t, os.Chtimes(path+".tmp", moment, moment))
		require.NoError(t, os.Rename(path+".tmp", path))
		last := w.line(t)
		if i == 14 {
			require.Regexp(t, `^20\S+Z  15 snapshots  heap [0-9.]+ MiB  RSS        -  leak [0-9]+% +\S+ \S+:[0-9]+  \+`, last)
		}
	}
	code, rest := w.end(t)
	require.Equal(t, exitFound, code, w.said())
	require.Empty(t, rest)
}

// TestWatchADirectoryThatVanishes: the watch reports it, and continues with the directory that
// replaces it.
func TestWatchADirectoryThatVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	texts := leakySeries(t)
	put := func(n int) {
		next := dir + ".next"
		require.NoError(t, os.Mkdir(next, 0o700))
		for i := range n {
			appendTo(t, filepath.Join(next, fmt.Sprintf("p.%04d.heap", i+1)), texts[i])
		}
		require.NoError(t, os.Rename(next, dir))
	}
	put(2)
	w := startWatch(t, dir)
	require.Contains(t, w.line(t), " 2 snapshots ")
	require.NoError(t, os.Rename(dir, dir+".old"))
	require.Eventually(t, func() bool {
		return strings.Contains(w.said(), "heaplapse: the snapshots are gone: waiting for snapshots in "+dir+"\n")
	}, time.Minute, 10*time.Millisecond)
	put(3)
	require.Contains(t, w.line(t), " 3 snapshots ")
}

// TestWatchIsInterrupted: ^C ends the watch with status 0.
func TestWatchIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	w := startWatch(t, filepath.Join(dir, "p"), "--fail-on", "leak")
	appendTo(t, filepath.Join(dir, "p.0001.heap"), leakySeries(t)[0])
	require.Contains(t, w.line(t), " 1 snapshot ")
	require.NoError(t, w.Process.Signal(os.Interrupt))
	code, _ := w.end(t)
	require.Equal(t, exitOK, code)
}
