//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of this file run real programs under the real allocators. Programs that grow do so for some seconds; no test
// depends on how many snapshots that gives, beyond the few that growth needs.

// eachEngine runs a test under every engine; one that is not installed is skipped, in CI it fails.
func eachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	for _, engine := range []string{"tcmalloc", "jemalloc"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			needEngine(t, engine)
			test(t, engine)
		})
	}
}

func needEngine(t *testing.T, engine string) {
	t.Helper()
	out, err := exec.Command("heaplapse", "record", "--dry-run", "--engine", engine, "--", "true").CombinedOutput()
	if err != nil {
		t.Logf("%s", out)
		testutil.Missing(t, "the library of "+engine)
	}
}

// python is the interpreter itself, where python3 may be a wrapper.
func python(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(testutil.Need(t, "python3"), "-c", "import sys; print(sys.executable)").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// program is the path of a file of testdata/record.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/record", name))
	require.NoError(t, err)
	return path
}

// server compiles server.cc.
func server(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	out, err := exec.Command(testutil.Need(t, "g++"), "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, program(t, "server.cc")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// run is one call of record.
type run1 struct {
	dir            string
	stdout, stderr string
	state          *os.ProcessState
}

// recordCmd is heaplapse record in an empty directory of its own.
func recordCmd(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("heaplapse", append([]string{"record", "-o", dir}, args...)...)
	cmd.Dir = t.TempDir()
	return cmd
}

func recorded(t *testing.T, args ...string) run1 {
	t.Helper()
	r := run1{dir: filepath.Join(t.TempDir(), "out")}
	cmd := recordCmd(t, r.dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	r.stdout, r.stderr, r.state = stdout.String(), stderr.String(), cmd.ProcessState
	return r
}

func (r *run1) signal() syscall.Signal { return r.state.Sys().(syscall.WaitStatus).Signal() }

func sidecar(t *testing.T, dir string) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Load(dir)
	require.NoError(t, err)
	require.NotNil(t, m)
	return m
}

// grown is what growth says of a directory.
func grown(t *testing.T, dir string, flags ...string) *found {
	t.Helper()
	out, err := exec.Command("heaplapse", append([]string{"growth", "-q", "--format", "json", dir}, flags...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(t, err, "%s", exit.Stderr)
	}
	var got found
	require.NoError(t, json.Unmarshal(out, &got))
	return &got
}

// grows asks growth which site it lists first, or has gained most. Its verdict is not asked for: on a machine that does much else a
// recording of some seconds is uneven, and then growth is rightly undecided.
func grows(t *testing.T, dir, function string) {
	t.Helper()
	sites := grown(t, dir, "--all").Sites
	require.NotEmpty(t, sites)
	most := slices.MaxFunc(sites, func(a, b foundSite) int { return cmp.Compare(a.gained(), b.gained()) })
	assert.Regexp(t, "(?m)"+function, sites[0].Blame.Function+"\n"+most.Blame.Function)
}

// gained is what a site has at most and had not at the start: a program may free all before its last snapshot.
func (s *foundSite) gained() int64 {
	most := int64(0)
	for _, v := range s.InuseBytes {
		most = max(most, deref(v))
	}
	return most - deref(s.InuseBytes[0])
}

func deref(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func (f *found) leaking() []string {
	var names []string
	for _, s := range f.Sites {
		if s.leaks() {
			names = append(names, s.Blame.Function)
		}
	}
	return names
}

// wholeSnapshots opens every snapshot of a directory by itself, and counts them by process.
func wholeSnapshots(t *testing.T, dir string) map[int]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.heap"))
	require.NoError(t, err)
	count := map[int]int{}
	for _, f := range files {
		s, err := series.Open([]string{f}, series.Options{})
		require.NoError(t, err)
		assert.False(t, s.Heads[0].Completeness.Unfinished, f)
		count[series.ParseFileName(f).PID]++
		require.NoError(t, s.Close())
	}
	return count
}

func TestRecordFindsALeakInAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	testutil.Need(t, "python3")
	var text string
	for range 3 { // see grows
		cmd := exec.Command("sh", "-c", `heaplapse record -- python3 "$0" 5 && heaplapse growth -q heaplapse-python3-*`, program(t, "leak.py"))
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if text = string(out); strings.Contains(text, "\nLEAK: ") {
			break
		}
	}
	assert.Contains(t, text, "\nsteps were made\n")
	assert.Contains(t, text, "\nLEAK: ")
	assert.Regexp(t, `heaplapse: \d+ snapshots of process \d+; next: heaplapse growth heaplapse-python3-\d{8}-\d{6}\n`, text)
}

func TestRecordPython(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--every", "200ms", "--", python(t), program(t, "leak.py"), "4")
		assert.Equal(t, "steps were made\n", r.stdout)
		assert.Equal(t, 0, r.state.ExitCode())
		checkSidecar(t, r.dir, engine)
		grows(t, r.dir, "pyrun_file|run_mod|python|Py")
	})
}

// checkSidecar compares a sidecar with the directory.
func checkSidecar(t *testing.T, dir, engine string) {
	t.Helper()
	m := sidecar(t, dir)
	assert.Equal(t, engine, m.Recording.Engine)
	require.NotEmpty(t, m.Processes)
	pid := m.Processes[0].PID
	sized := 0 // of a snapshot at the very end the process may be gone
	for _, s := range m.Snapshots {
		assert.Equal(t, pid, s.PID)
		assert.Contains(t, []string{"time", "exit"}, s.Trigger)
		if s.RSS != nil {
			sized++
			assert.Greater(t, *s.RSS, int64(1<<20))
			assert.LessOrEqual(t, *s.PSS, *s.RSS)
		}
	}
	assert.Greater(t, 2*sized, len(m.Snapshots))
	assert.Equal(t, "exit", m.Snapshots[len(m.Snapshots)-1].Trigger)
	libc := slices.IndexFunc(m.Mappings, func(f manifest.Mapping) bool { return strings.HasPrefix(filepath.Base(f.Path), "libc") })
	require.GreaterOrEqual(t, libc, 0)
	assert.Regexp(t, `^[0-9a-f]{16,}$`, m.Mappings[libc].BuildID)
	require.Len(t, m.Ends, 2)
	assert.Equal(t, pid, m.Ends[0].PID)
	assert.Equal(t, 0, *m.Ends[0].Status)
	assert.Equal(t, manifest.End{Time: m.Ends[1].Time}, m.Ends[1], "the recording ended without an error")
}

func TestRecordAProgramThatDoesNotGrow(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--every", "200ms", "--", python(t), program(t, "flat.py"), "4")
		assert.Empty(t, grown(t, r.dir).leaking())
	})
}

func TestRecordNumPy(t *testing.T) {
	t.Parallel()
	if exec.Command("/usr/bin/python3", "-c", "import numpy").Run() != nil {
		testutil.Missing(t, "python3-numpy")
	}
	script := filepath.Join(t.TempDir(), "arrays.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import time, numpy
kept = []
for _ in range(700):
    kept.append(numpy.full(10_000, 1.5))
    for _ in range(10): numpy.zeros(10_000) + 1
    time.sleep(0.005)
`), 0o600))
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--every", "200ms", "--", "/usr/bin/python3", script)
		grows(t, r.dir, `multiarray|PyArray|npy`)
	})
}

// TestRecordAServer ends record by SIGTERM: the server gets it, after a last snapshot where the engine has a signal for that.
func TestRecordAServer(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		dir := filepath.Join(t.TempDir(), "out")
		cmd := recordCmd(t, dir, "--engine", engine, "--every", "200ms", "--", exe)
		state, stderr := endedBy(t, cmd, 4*time.Second, syscall.SIGTERM)
		assert.Equal(t, syscall.SIGTERM, state.Signal(), "record ends as its program did")
		assert.NotContains(t, stderr, "warning")
		m := sidecar(t, dir)
		assert.Equal(t, "SIGTERM", m.Ends[0].Signal)
		if engine == "tcmalloc" {
			asked := func(s manifest.Snapshot) bool { return s.Trigger == "manual" }
			assert.True(t, slices.ContainsFunc(m.Snapshots, asked), "the last snapshot was asked for")
		}
		grows(t, dir, "^remember$")
	})
}

// endedBy starts a command that prints "ready", and sends it a signal after some time.
func endedBy(t *testing.T, cmd *exec.Cmd, after time.Duration, signal syscall.Signal) (syscall.WaitStatus, string) {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr")) // a program that outlives record would hold a pipe
	require.NoError(t, err)
	defer stderr.Close()
	said := func() string {
		text, err := os.ReadFile(stderr.Name())
		require.NoError(t, err)
		return string(text)
	}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, said())
	require.Equal(t, "ready\n", line)
	time.Sleep(after)
	require.NoError(t, cmd.Process.Signal(signal))
	_ = cmd.Wait()
	return cmd.ProcessState.Sys().(syscall.WaitStatus), said()
}

func TestRecordNode(t *testing.T) {
	t.Parallel()
	node := testutil.Need(t, "node")
	needEngine(t, "tcmalloc")
	r := recorded(t, "--engine", "tcmalloc", "--every", "500ms", "--jit", "--", node, program(t, "leak.js"), "1500")
	assert.Equal(t, 0, r.state.ExitCode())
	m := sidecar(t, r.dir)
	perf := slices.IndexFunc(m.Files, func(f manifest.File) bool { return f.Kind == "perf-map" })
	require.GreaterOrEqual(t, perf, 0, "%v", m.Files)
	// Node's start takes longer than what it does then, so no verdict is asked for.
	last := m.Snapshots[max(0, len(m.Snapshots)-6):]
	assert.True(t, slices.ContainsFunc(last, func(s manifest.Snapshot) bool {
		top, _, _ := invokePlain("top", "-q", "--top", "100", filepath.Join(r.dir, s.File))
		return strings.Contains(top, "leakBuffers  leak.js:") || strings.Contains(top, "allocUnsafeSlow  node:buffer:")
	}), "a JavaScript function has a name")
	require.NoError(t, os.Remove(m.Files[perf].Path), "node leaves its map in /tmp")
}

// TestRecordNodeUnderJemalloc: its unwinder stops at generated code, so the function of Node below it is what has a name.
func TestRecordNodeUnderJemalloc(t *testing.T) {
	t.Parallel()
	node := testutil.Need(t, "node")
	needEngine(t, "jemalloc")
	r := recorded(t, "--engine", "jemalloc", "--sample-period", "32KiB", "--every", "200ms", "--", node, program(t, "leak.js"), "3000")
	assert.Equal(t, 0, r.state.ExitCode())
	grows(t, r.dir, "^node::Buffer::")
}

// startMethods are how multiprocessing starts a worker: with one engine all of them, with the other one unless everything is checked.
func startMethods(engine string) []string {
	if engine == "tcmalloc" || testutil.Full() {
		return []string{"fork", "spawn"}
	}
	return []string{"fork"}
}

// TestRecordOnlyTheProgram: its children leave no snapshots, and the user is told.
func TestRecordOnlyTheProgram(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, start := range startMethods(engine) {
			r := recorded(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "workers.py"), start, "1")
			assert.Equal(t, "workers are done\n", r.stdout)
			assert.Len(t, wholeSnapshots(t, r.dir), 1, start)
			assert.Contains(t, r.stderr, "--follow-children keeps them all")
		}
	})
}

// TestRecordWorkers: every process has its own series.
func TestRecordWorkers(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, start := range startMethods(engine) {
			r := recorded(t, "--engine", engine, "--every", "200ms", "--follow-children", "--", python(t), program(t, "workers.py"), start, "2")
			assert.Equal(t, "workers are done\n", r.stdout)
			working := 0
			for pid, n := range wholeSnapshots(t, r.dir) {
				require.NotZero(t, pid)
				if n < 4 {
					continue
				}
				s, err := series.Open([]string{r.dir}, series.Options{Process: strconv.Itoa(pid)})
				require.NoError(t, err)
				if at := len(s.Heads) - 2; s.Heads[at].Heap().InuseBytes > s.Heads[0].Heap().InuseBytes+1<<20 {
					working++
				}
				require.NoError(t, s.Close())
			}
			assert.GreaterOrEqual(t, working, 2, "each worker's growth is in a series of its own (%s)", start)
		}
	})
}

func TestRecordAForkingServer(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		dir := filepath.Join(t.TempDir(), "out")
		cmd := recordCmd(t, dir, "--engine", engine, "--every", "200ms", "--follow-children", "--", "sh", "-c", `"$0" fork & trap 'pkill -TERM -P $!; kill $!; wait' TERM; wait`, exe)
		endedBy(t, cmd, 2*time.Second, syscall.SIGTERM)
		series := wholeSnapshots(t, dir)
		long := 0
		for _, n := range series {
			if n >= 4 {
				long++
			}
		}
		assert.GreaterOrEqual(t, long, 3, "the three children that serve: %v", series)
	})
}

// TestRecordUnderWrappers: the program is found below what starts it.
func TestRecordUnderWrappers(t *testing.T) {
	t.Parallel()
	py := python(t)
	script := program(t, "leak.py")
	for name, command := range map[string][]string{
		"timeout":    {"timeout", "60", py, script, "2"},
		"sh -c":      {"sh", "-c", `"$0" "$1" 2; exit 3`, py, script},
		"env":        {"env", "A=1", py, script, "2"},
		"exec chain": {"sh", "-c", `exec env nice bash -c 'exec "$0" "$1" 2' "$0" "$1"`, py, script},
		"all":        {"env", "timeout", "60", "sh", "-c", `true | cat; "$0" "$1" 2; exit 3`, py, script},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine string) {
				if engine == "jemalloc" && name != "all" && !testutil.Full() {
					return
				}
				r := recorded(t, append([]string{"--engine", engine, "--every", "100ms", "--"}, command...)...)
				assert.Equal(t, "steps were made\n", r.stdout)
				left := wholeSnapshots(t, r.dir)
				require.Len(t, left, 1, "only the program's are left")
				s, err := series.Open([]string{r.dir}, series.Options{})
				require.NoError(t, err)
				defer s.Close()
				assert.GreaterOrEqual(t, len(s.Heads), 2)
				assert.Contains(t, s.Spaces[len(s.Spaces)-1].Mappings[0].Path, "python")
			})
		})
	}
}

func TestRecordAProgramThatIsKilled(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--every", "100ms", "--", "timeout", "-s", "KILL", "3", exe)
		assert.Equal(t, syscall.SIGKILL, r.signal(), "timeout dies by the same signal")
		wholeSnapshots(t, r.dir)
		grows(t, r.dir, "^remember$")
		r = recorded(t, "--engine", engine, "--every", "100ms", "--", "sh", "-c", `kill -KILL $$`)
		assert.Equal(t, syscall.SIGKILL, r.signal())
		assert.Equal(t, "SIGKILL", sidecar(t, r.dir).Ends[0].Signal)
	})
}

// TestRecordIsKilled: the program goes on and writes, what is there can be read.
func TestRecordIsKilled(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		dir := filepath.Join(t.TempDir(), "out")
		cmd := recordCmd(t, dir, "--engine", engine, "--every", "100ms", "--", exe)
		endedBy(t, cmd, 2*time.Second, syscall.SIGKILL)
		m := sidecar(t, dir)
		require.Empty(t, m.Ends, "nobody could say how it ended")
		pid := m.Processes[0].PID
		before := len(m.Snapshots)
		require.Eventually(t, func() bool {
			files, err := filepath.Glob(filepath.Join(dir, "*.heap"))
			return err == nil && len(files) > before+3
		}, 20*time.Second, 50*time.Millisecond, "the program goes on")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		assert.Contains(t, []string{"leak", "undecided"}, grown(t, dir).Verdict)
	})
}

// TestRecordOnAFullDisk: the program does not notice, the sidecar says it, and what was written before can be read.
func TestRecordOnAFullDisk(t *testing.T) {
	t.Parallel()
	py := python(t)
	eachEngine(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400k"); err != nil {
			t.Skipf("tmpfs cannot be mounted here: %v", err)
		}
		defer func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
		out := filepath.Join(dir, "out")
		cmd := recordCmd(t, out, "--engine", engine, "--every", "50ms", "--", py, program(t, "leak.py"), "3")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), stderr.String())
		assert.Equal(t, "steps were made\n", stdout.String())
		assert.Contains(t, stderr.String(), "no space left on device")
		for line := range strings.Lines(stderr.String()) {
			assert.True(t, strings.HasPrefix(line, "heaplapse: "), line)
		}
		m := sidecar(t, out)
		assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "no space left on device")
		assert.NotEmpty(t, wholeSnapshots(t, out))
	})
}

// TestRecordWithLimitedFiles: snapshots that exceed the limit (ulimit -f) are cut, and do not end the program by SIGXFSZ.
func TestRecordWithLimitedFiles(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(testutil.Need(t, "bash"), "-c", `ulimit -f 16; exec "$@"`, "bash", "heaplapse", "record", "--engine", "tcmalloc", "--every", "50ms", "-o", dir, "--", python(t), program(t, "leak.py"), "2")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	assert.Equal(t, "steps were made\n", stdout.String())
	assert.Regexp(t, `heaplapse: warning: \d+ snapshots were cut short and are not used \(files are limited to 16 KiB: ulimit -f\)\n`, stderr.String())
	m := sidecar(t, dir)
	assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "were cut short")
	assert.NotEmpty(t, m.Snapshots, "the small ones are there")
}

func TestRecordKeepsSoMany(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--every", "50ms", "--keep", "7", "--", python(t), program(t, "leak.py"), "3")
		files, err := filepath.Glob(filepath.Join(r.dir, "*.heap"))
		require.NoError(t, err)
		m := sidecar(t, r.dir)
		atExit := 0 // those of the program's end go besides
		for _, d := range m.Dropped {
			if d.Reason == manifest.DropTeardown {
				atExit++
			}
		}
		assert.Len(t, files, 7-atExit)
		assert.Greater(t, len(m.Snapshots), 12, "there were more")
		assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[0].File), "the first one is kept")
		assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[len(m.Snapshots)-1].File), "the last one is kept")
	})
}

func TestRecordOnASignal(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordCmd(t, dir, "--signal", "USR2", "--every", "0", "--", server(t))
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	for n := 1; n <= 3; n++ { // record passes signals on
		require.Eventually(t, func() bool {
			require.NoError(t, cmd.Process.Signal(syscall.SIGUSR2))
			time.Sleep(200 * time.Millisecond)
			files, err := filepath.Glob(filepath.Join(dir, "*.heap"))
			return err == nil && len(files) >= n
		}, 10*time.Second, time.Millisecond)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	for _, s := range sidecar(t, dir).Snapshots {
		assert.Equal(t, "manual", s.Trigger)
	}
}

func TestRecordForSomeTime(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--duration", "1s", "--", server(t))
		assert.Equal(t, syscall.SIGTERM, r.signal())
		assert.Contains(t, r.stderr, "--duration 1s is over")
	})
}

// bare are programs whose results do not depend on time or addresses.
var bare = map[string][]string{
	"status 0":                   {"true"},
	"status 1":                   {"false"},
	"status 42":                  {"sh", "-c", "exit 42"},
	"status 255":                 {"sh", "-c", "exit 255"},
	"both streams":               {"sh", "-c", "echo out; echo err >&2; exit 7"},
	"standard input":             {"sort"},
	"not read input":             {"true"},
	"SIGTERM":                    {"sh", "-c", "kill -TERM $$"},
	"SIGSEGV":                    {"sh", "-c", "kill -SEGV $$"},
	"SIGABRT":                    {"python3", "-c", "import os; os.abort()"},
	"SIGPIPE":                    {"sh", "-c", "kill -PIPE $$"},
	"a handler":                  {"sh", "-c", "trap 'echo caught' USR1; kill -USR1 $$; echo on"},
	"_exit":                      {"python3", "-c", "import os; os.write(1, b'x'); os._exit(5)"},
	"handlers for all signals":   {"python3", "-c", "import signal\nfor s in set(signal.valid_signals()) - {9, 19}: signal.signal(s, lambda *a: None)\nprint(signal.raise_signal(53))"},
	"an exception":               {"python3", "-c", "import sys; sys.tracebacklimit = 0; raise ValueError('v')"},
	"pipelines":                  {"bash", "-o", "pipefail", "-c", "seq 100000 | awk '{s += $1} END {print s}' | tee /dev/stderr | md5sum"},
	"many processes":             {"bash", "-c", "for i in $(seq 30); do echo $(echo $i); done; wait"},
	"threads and fork":           {"python3", "-c", "import subprocess, threading\nr = []\nts = [threading.Thread(target=lambda: r.append(subprocess.run(['echo', 'x'], capture_output=True).stdout)) for _ in range(8)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nprint(r)"},
	"an argument's name":         {"sh", "-c", `echo "$0" "$@"`, "a b", "", "*"},
	"working directory and mask": {"sh", "-c", "pwd >/dev/null; umask; echo $PPID >/dev/null"},
	"open files":                 {"sh", "-c", "for f in 0 1 2 3 4 5 6 7 8 9; do readlink /proc/self/fd/$f; done | grep -v pipe: | wc -l"}, // libunwind has a pipe of its own
	"limits":                     {"bash", "-c", "ulimit -Sn; ulimit -Hn; ulimit -s"},
	"signal dispositions":        {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"},
	"a compiler":                 {"sh", "-c", "echo 'int f(int x){return x*7;}' | gcc -O2 -S -o - -x c - | md5sum"},
	"perl":                       {"perl", "-e", "print sort map { $_ * 3 } 1..2000; warn qq(w\n); exit 9"},
	"node":                       {"node", "-e", "console.log([...Array(5000).keys()].reduce((a, b) => a + b)); process.exitCode = 4"},
	"an uncaught exception":      {"node", "-e", "process.on('uncaughtException', e => { console.error(e.message); process.exit(3) }); throw new Error('e')"},
	"environment":                {"sh", "-c", "env | grep -vE '^(LD_PRELOAD|HEAP|PERFTOOLS|MALLOC_CONF|GLIBCPP_FORCE_NEW|GLIBCXX_FORCE_NEW|_=)' | sort"},
}

// TestRecordChangesNothing compares programs with and without record: status, signal, standard output, standard error.
func TestRecordChangesNothing(t *testing.T) {
	t.Parallel()
	for name, command := range bare {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testutil.Need(t, command[0])
			eachEngine(t, func(t *testing.T, engine string) {
				dir := t.TempDir()
				flags := []string{"record", "-q", "--engine", engine, "--every", "300ms", "-o", filepath.Join(t.TempDir(), "out"), "--"}
				want := resultOf(t, dir, exec.Command(command[0], command[1:]...))
				got := resultOf(t, dir, exec.Command("heaplapse", append(flags, command...)...))
				assert.Equal(t, want, got)
			})
		})
	}
}

type result struct {
	status         int
	signal         syscall.Signal
	stdout, stderr string
}

func resultOf(t *testing.T, dir string, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader("b\na\nc\n"), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r := result{stdout: stdout.String(), stderr: stderr.String()}
	if ws.Signaled() {
		r.signal = ws.Signal()
	} else {
		r.status = ws.ExitStatus()
	}
	return r
}

// TestRecordOnATerminal compares with a bare run: the program has the terminal; a new size, ^Z with fg, and ^C reach it once, and so does kill -INT
// of record itself.
func TestRecordOnATerminal(t *testing.T) {
	t.Parallel()
	py := python(t)
	drive := onTerminal(t)
	for _, end := range []string{"key", "kill"} {
		want := drive(end, py, "-c", interrupted)
		require.Equal(t, "is a terminal: True\nstopped\nCONT 1 INT 1 WINCH 1\nstatus 6\n", want)
		eachEngine(t, func(t *testing.T, engine string) {
			got := drive(end, "heaplapse", "record", "-q", "--engine", engine, "-o", filepath.Join(t.TempDir(), "out"), "--", py, "-c", interrupted)
			assert.Equal(t, want, got, end)
		})
	}
}

// TestRecordALastSnapshotOnATerminal: ^C kills a program without a handler; there is a snapshot of that moment nevertheless.
func TestRecordALastSnapshotOnATerminal(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	dir := filepath.Join(t.TempDir(), "out")
	out := onTerminal(t)("key at once", "heaplapse", "record", "-q", "--engine", "tcmalloc", "--every", "0", "-o", dir, "--", server(t))
	assert.Equal(t, "status -2\n", out)
	m := sidecar(t, dir)
	assert.Len(t, wholeSnapshots(t, dir), 1)
	assert.Equal(t, "manual", m.Snapshots[len(m.Snapshots)-1].Trigger)
	assert.Equal(t, "SIGINT", m.Ends[0].Signal)
}

// onTerminal runs commands as jobs on new terminals, see terminalDriver.
func onTerminal(t *testing.T) func(end string, command ...string) string {
	t.Helper()
	py := python(t)
	driver := filepath.Join(t.TempDir(), "terminal.py")
	require.NoError(t, os.WriteFile(driver, []byte(terminalDriver), 0o600))
	return func(end string, command ...string) string {
		out, err := exec.Command(py, append([]string{driver, end}, command...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
}

// terminalDriver runs a command as the foreground job of a new terminal, as a shell does. When it says that it is ready the window gets another size; when
// it has noticed that, ^Z is typed, and the job is brought to the foreground again; when it has noticed that, ^C is typed, or the
// job's first process is sent SIGINT. "key at once" types ^C when it is ready.
const terminalDriver = `
import fcntl, os, pty, signal, struct, sys, termios
how, command = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0: # the shell
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    print("job", job, flush=True)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.tcsetpgrp(0, os.getpgrp())
        print("stopped", flush=True)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.tcsetpgrp(0, os.getpgrp())
    print("status", os.waitstatus_to_exitcode(status), flush=True)
    os._exit(0)

def interrupt():
    if how == "kill":
        os.kill(job, signal.SIGINT)
    else:
        os.write(fd, b"\x03")

actions = {
    "ready": interrupt if how == "key at once" else lambda: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 11, 22, 0, 0)),
    "resized": lambda: os.write(fd, b"\x1a"),
    "continued": interrupt,
}
text = b""
while True:
    try:
        new = os.read(fd, 1000)
    except OSError:
        break
    if not new:
        break
    text += new
    *lines, text = text.split(b"\n")
    for line in lines:
        line = line.decode().strip().replace("^C", "").replace("^Z", "")
        if line.startswith("job "):
            job = int(line[4:])
        elif line in actions:
            actions[line]()
        elif line:
            print(line)
os.waitpid(pid, 0)
`

// interrupted counts signals.
const interrupted = `
import signal, sys, time
names = "CONT", "INT", "WINCH"
count = dict.fromkeys(names, 0)
def counter(name):
    def handler(*_): count[name] += 1
    return handler
for name in names:
    signal.signal(getattr(signal, "SIG" + name), counter(name))
print("is a terminal:", sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty())
for word, name in ("ready", "WINCH"), ("resized", "CONT"), ("continued", "INT"):
    print(word, flush=True)
    while not count[name]:
        time.sleep(0.01)
time.sleep(0.3)
print(*(f"{n} {c}" for n, c in count.items()))
sys.exit(6)
`

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	gcc := testutil.Need(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "nothing.c")
	require.NoError(t, os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600))
	compile := func(name string, flags ...string) string {
		path := filepath.Join(dir, name)
		out, err := exec.Command(gcc, append(flags, "-o", path, source)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return path
	}
	static := compile("static", "-static")
	sanitized := compile("sanitized", "-fsanitize=address")
	setuid := compile("setuid")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(setuid, 65534, 65534))
	}
	require.NoError(t, os.Chmod(setuid, 0o755|os.ModeSetuid))
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("#!/no/such/interpreter\n"), 0o700))
	for why, c := range map[string]struct {
		path   string
		status int
		says   string
	}{
		"static":                {static, 125, "is statically linked"},
		"sanitized":             {sanitized, 125, "is built with AddressSanitizer"},
		"no interpreter":        {text, 127, "/no/such/interpreter: no such file"},
		"not executable":        {source, 126, "is not executable"},
		"a directory":           {dir, 126, "is a directory"},
		"absent":                {filepath.Join(dir, "absent"), 127, "no such file"},
		"not in PATH":           {"no-such-program-anywhere", 127, "no such program in PATH"},
		"setuid of another one": {setuid, 125, "is setuid"},
	} {
		t.Run(why, func(t *testing.T) {
			if c.path == setuid && os.Geteuid() != 0 {
				t.Skip("a file of another user needs root")
			}
			out := filepath.Join(t.TempDir(), "out")
			_, stderr, code := invokePlain("record", "-o", out, "--", c.path)
			assert.Equal(t, c.status, code)
			assert.Contains(t, stderr, c.says)
			assert.NoDirExists(t, out)
		})
	}
}

// invokePlain is invoke for tests that run beside others.
func invokePlain(args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command("heaplapse", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestRecordNamesThePackage: the error for a library without a profiler names the package that has one.
func TestRecordNamesThePackage(t *testing.T) {
	t.Parallel()
	minimal := testutil.NeedFile(t, "/usr/lib/*/libtcmalloc_minimal.so.4")
	_, stderr, code := invokePlain("record", "--engine", "tcmalloc", "--library", minimal, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, stderr, "libtcmalloc_minimal.so.4 has no heap profiler")
}
