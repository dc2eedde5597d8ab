package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/testutil/faults"
)

// TestRecordFaults lets each file operation of record fail or be short. The recorded program runs
// and its status is passed on. If it runs without a recording, record says which file prevents one.
// No temporary files stay, and what was recorded can be read.
//
// It takes a sample of the operations; `make faults` takes all of them.
func TestRecordFaults(t *testing.T) {
	testutil.NoRace(t)
	needEngine(t, "tcmalloc")
	clean := recordUnder(t, place{}, fault{})
	require.Equal(t, 3, clean.status, clean.stderr)
	tryFaults(t, clean, recordUnder, judgeRecording)
}

// tryFaults repeats a recording with a fault in each of its calls, or in a sample of them.
func tryFaults(
	t *testing.T, clean *faultedRecording,
	run func(*testing.T, place, fault) *faultedRecording, judge func(*faultedRecording) string,
) {
	t.Helper()
	require.Greater(t, len(clean.calls), 20)
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 8) // a recording mostly waits
	for n, at := range places(relativeTo(clean.dir, clean.calls)) {
		for k, how := range failures[at.call.Name] {
			if (n+k)%faultStep() != 0 {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				o := run(t, at, how)
				if problem := judge(o); problem != "" {
					t.Errorf("%s, %d, %s: %s\nstatus %d\n%s", at.call, at.nth, how.name, problem, o.status, o.stderr)
				}
			})
		}
	}
}

// faultedRecording is what a run of record leaves.
type faultedRecording struct {
	outcome
	dir string
}

// recordUnder records a program that prints "ran" and exits with status 3.
func recordUnder(t *testing.T, at place, how fault) *faultedRecording {
	return runUnder(t, at, how, "record", "--engine", "tcmalloc", "--bundle", "-o", "$D/rec", "--", "sh", "-c", "echo ran; exit 3")
}

// runUnder runs a command that records. In args, $D is a new directory.
func runUnder(t *testing.T, at place, how fault, args ...string) *faultedRecording {
	o, reached := &faultedRecording{outcome{hit: -1}, t.TempDir()}, counter{}
	require.NoError(t, os.Mkdir(filepath.Join(o.dir, "tmp"), 0o755))
	launcher, err := exec.LookPath(faults.Command)
	require.NoError(t, err)
	cmd := exec.Command("heaplapse")
	for _, arg := range args {
		cmd.Args = append(cmd.Args, strings.ReplaceAll(arg, "$D", o.dir))
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+o.dir+"/tmp", "XDG_CACHE_HOME="+o.dir+"/cache", "GOMAXPROCS=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := faults.Run{Cmd: cmd, Dirs: []string{o.dir}, Decide: func(c faults.Call) faults.Outcome {
		o.calls = append(o.calls, c)
		c.Path = strings.TrimPrefix(c.Path, o.dir)
		if reached.next(c) != at {
			return faults.Outcome{}
		}
		o.hit = len(o.calls) - 1
		return faults.Outcome{Errno: how.errno, Short: how.short}
	}}
	err = run.Do(ctx, launcher)
	require.NoError(t, ctx.Err(), "the command does not end")
	requireReports(t, err)
	o.status = exitStatus(err)
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o
}

// relativeTo returns calls with paths below a directory.
func relativeTo(dir string, calls []faults.Call) []faults.Call {
	out := slices.Clone(calls)
	for i := range out {
		out[i].Path = strings.TrimPrefix(out[i].Path, dir)
	}
	return out
}

// temporary matches the names of temporary files: .NAME.tmp1234.
var temporary = regexp.MustCompile(`/\.[^/]*\.tmp[0-9]+$`)

// preventsRemoval reports whether the fault is a reason why a file cannot be removed: it is in a call
// that removes, or that lists a directory above the file.
func (o *faultedRecording) preventsRemoval(path string) bool {
	if o.hit < 0 {
		return false
	}
	c := o.calls[o.hit]
	return c.Name == "remove" || strings.HasPrefix(path, c.Path+"/")
}

// leftOver returns a temporary file that could have been removed, or "".
func (o *faultedRecording) leftOver() (left string) {
	_ = filepath.Walk(o.dir, func(path string, info os.FileInfo, err error) error {
		isTemporary := temporary.MatchString(path) || atomicfile.IsTemporary(path) || strings.HasPrefix(path, o.dir+"/tmp/")
		if err == nil && !info.IsDir() && isTemporary && !o.preventsRemoval(path) {
			left = path
		}
		return nil
	})
	return left
}

// judgeRecording returns what is wrong with a recording, or "".
func judgeRecording(o *faultedRecording) string {
	rec := filepath.Join(o.dir, "rec")
	switch {
	case crashed(o.stderr):
		return "it crashed"
	case !strings.Contains(o.stdout, "ran\n") || o.status != 3:
		return "the program did not run"
	}
	if left := o.leftOver(); left != "" {
		return "left over: " + left
	}
	if strings.Contains(o.stderr, "the program runs without a recording: ") {
		// A limit of open files is about no file.
		if !strings.Contains(o.stderr, o.dir) && !strings.Contains(o.stderr, "ulimit -n") {
			return "no message names a file"
		}
		if outdir.HasRecording(rec) {
			return "a manifest is left: the directory cannot be used again"
		}
		return ""
	}
	if strings.Contains(o.stderr, "warning: no snapshots") {
		return "" // the recorder, which is traced, did not answer in time: the machine is busy
	}
	info := exec.Command("heaplapse", "info", rec, "--no-cache")
	if out, err := info.CombinedOutput(); exitStatus(err) == 2 {
		return "info cannot read it: " + string(out)
	}
	return ""
}
