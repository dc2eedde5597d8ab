//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// What the built-in engine could not do is in the manifest, and record and info print it. The tests of
// this file bring real programs into these states.

// TestRecordStates uses up what the engine has. The program does not notice.
func TestRecordStates(t *testing.T) {
	t.Parallel()
	states := compiled(t, "states.c")
	all := []string{"--every", "0", "--sample-period", "1", "--signal", "USR2", "--"}
	for name, c := range map[string]struct {
		command []string
		kind    string
		text    string
	}{
		"samples": {[]string{states, "samples"}, "samples-dropped", "no memory for more samples"},
		"paths":   {[]string{states, "paths"}, "table-full", "no room for more call paths: they are recorded as one"},
		"threads": {
			[]string{states, "threads"}, "threads-dropped",
			"too many threads: the allocations of some are not recorded",
		},
		"mappings": {[]string{states, "mappings"}, "regions-dropped", "too many mappings: some are not recorded"},
		"lines": {
			[]string{python(t), program(t, "lines.py")}, "names-full",
			"no room for more lines of scripts: further ones are left out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			r := begin(t, dir, recordCmd(t, dir, append(append([]string{"--engine", "builtin"}, all...), c.command...)...))
			if name == "lines" { // a snapshot with so many lines may take longer than a program waits at its end
				r.await(t, "snapshot", func() bool { return r.count() > 0 })
				r.end(t)
			} else {
				r.wait(t)
			}
			if name == "threads" && r.state.ExitStatus() == 3 {
				t.Skip("this system does not permit 4,500 threads")
			}
			require.Equal(t, 0, r.state.ExitStatus(), r.stderr)
			assert.Empty(t, r.stdout)
			reported(t, r, c.kind, c.text)
		})
	}
}

// compiled builds a program of testdata/record.
func compiled(t *testing.T, source string) string {
	t.Helper()
	return built(t, strings.TrimSuffix(source, ".c"), "gcc", "-g", "-O0", "-pthread", program(t, source))
}

// reported checks that a problem of the engine is in the manifest, and that record and info print it.
func reported(t *testing.T, r *recordRun, kind, text string) {
	t.Helper()
	p := problemOf(t, r, kind)
	assert.Equal(t, text, p.Detail)
	assert.Contains(t, r.stderr, "heaplapse: warning: process ")
	assert.Contains(t, r.stderr, p.Text())
	stdout, stderr, code := invokePlain("info", r.dir)
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, stdout, "recording: the built-in engine reports: "+p.Text()+"\n")
}

// problemOf returns the only problem of a kind in a manifest.
func problemOf(t *testing.T, r *recordRun, kind string) manifest.Problem {
	t.Helper()
	var list []manifest.Problem
	for _, p := range manifestOf(t, r.dir).Problems {
		if p.Kind == kind {
			list = append(list, p)
		}
	}
	require.Len(t, list, 1, r.stderr)
	require.Positive(t, list[0].Count)
	return list[0]
}

// TestRecordWithAChangedClock: each of the engine's snapshots is at another minute.
func TestRecordWithAChangedClock(t *testing.T) {
	t.Parallel()
	clock := compiled(t, "clock.c")
	if exec.Command(clock, "true").Run() != nil {
		t.Skip("this system does not permit to answer system calls of other processes (seccomp)")
	}
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordCmd(t, dir, "--engine", "builtin", "--every", "50ms", "--", python(t), program(t, "leak.py"))
	cmd.Path, cmd.Args = clock, append([]string{clock}, cmd.Args...)
	r := startedCmd(t, dir, cmd)
	r.more(t, 3)
	r.end(t)
	require.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	assert.Equal(t, "ready\nsteps were made\n", r.stdout)
	reported(t, r, "clock-jump", "the system's clock was changed during the recording")
}

// TestRecordNothing: a recording without snapshots tells why, also to those who did not see record.
func TestRecordNothing(t *testing.T) {
	t.Parallel()
	bash, states := testutil.Need(t, "bash"), compiled(t, "states.c")
	own := filepath.Join(t.TempDir(), "own")
	compileC(t, own, "#include <stddef.h>\nvoid *malloc(size_t n) { (void)n; return 0; }\nint main(void) { return malloc(1) != 0; }\n")
	for name, c := range map[string]struct {
		command []string
		kind    string
		text    string
	}{
		"own malloc":    {[]string{own}, "disabled", " is not recorded: the program defines malloc itself"},
		"copy":          {[]string{states, "copy"}, "write-failed", ": the tables could not be copied"},
		"address space": {[]string{bash, "-c", "ulimit -v 60000; exec " + states + " paths"}, "disabled", " is not recorded: the limit of address space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recorded(t, append([]string{"--engine", "builtin", "--every", "0", "--sample-period", "1", "--"}, c.command...)...)
			require.Equal(t, 0, r.state.ExitStatus(), r.stderr)
			problemOf(t, r, c.kind)
			assert.Contains(t, r.stderr, c.text)
			_, stderr, code := invokePlain("info", r.dir)
			assert.NotZero(t, code)
			assert.Contains(t, stderr, "no heap snapshots in this directory")
			assert.Contains(t, stderr, c.text)
		})
	}
	r := recorded(t, "--engine", "builtin", "--follow-children", "--", bash, "-c", own+"; true")
	require.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	stdout, _, _ := invokePlain("info", r.dir)
	assert.Contains(t, stdout, " is not recorded: the program defines malloc itself", "a child")
}

// TestRecorderThatDoesNotAnswer stops record, which is to the program as if the disk had stopped. The
// program ends as without it: no thread of it waits for more than 2 s.
func TestRecorderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "ends.c")
	for _, how := range []string{"exit", "exec", "fork", "setuid", "signal"} {
		for engine, more := range map[string][]string{"builtin": {"--sample-period", "1"}, "tcmalloc": nil} {
			t.Run(how+" "+engine, func(t *testing.T) {
				t.Parallel()
				needEngine(t, engine)
				start := filepath.Join(t.TempDir(), "go")
				dir := filepath.Join(t.TempDir(), "out")
				args := append([]string{"--engine", engine, "--follow-children", "--every", "50ms"}, more...)
				r := begin(t, dir, recordCmd(t, dir, append(args, "--", exe, how, start)...))
				r.await(t, "snapshots", func() bool { return r.count() >= 2 })
				pid := manifestOf(t, dir).Processes[0].PID
				require.NoError(t, r.cmd.Process.Signal(syscall.SIGSTOP))
				require.NoError(t, os.WriteFile(start, nil, 0o600))
				r.await(t, "end of the program", func() bool { return !proc.Alive(pid) })
				require.NoError(t, r.cmd.Process.Signal(syscall.SIGCONT))
				r.wait(t)
				if how == "signal" {
					assert.Equal(t, syscall.SIGTERM, r.state.Signal(), r.stderr)
				} else {
					assert.Equal(t, 3, r.state.ExitStatus(), r.stderr)
				}
				wholeSnapshots(t, dir)
			})
		}
	}
}
