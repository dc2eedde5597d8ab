//go:build linux

package main

import (
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

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of this file run real programs under the real allocators. A program runs until its test has seen the snapshots that
// it needs. The tests assert what record promises (snapshots, manifest, status), which does not depend on how fast the machine is.

// eachEngine runs a test under every engine.
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

// recordRun is one call of record.
type recordRun struct {
	dir            string // of the snapshots
	stdout, stderr string // set when record has ended, as is state
	state          syscall.WaitStatus

	cmd  *exec.Cmd
	stop string // the program ends when this file exists
	out  *os.File
	err  *os.File
}

// recordCmd is heaplapse record in an empty directory of its own.
func recordCmd(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("heaplapse", append([]string{"record", "-o", dir}, args...)...)
	cmd.Dir = t.TempDir()
	return cmd
}

// recorded runs record to its end, with a program that ends by itself.
func recorded(t *testing.T, args ...string) *recordRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r := begin(t, dir, recordCmd(t, dir, args...))
	r.wait(t)
	return r
}

// started runs record until the program has printed "ready".
func started(t *testing.T, args ...string) *recordRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	return startedCmd(t, dir, recordCmd(t, dir, args...))
}

// startedCmd does so with a command that records into dir.
func startedCmd(t *testing.T, dir string, cmd *exec.Cmd) *recordRun {
	t.Helper()
	r := begin(t, dir, cmd)
	r.await(t, "ready", func() bool { return strings.HasPrefix(content(t, r.out), "ready\n") })
	return r
}

// begin starts a command. Its output goes to files: a program that outlives record would keep a pipe open.
func begin(t *testing.T, dir string, cmd *exec.Cmd) *recordRun {
	t.Helper()
	r := &recordRun{dir: dir, cmd: cmd, stop: filepath.Join(t.TempDir(), "stop")}
	for name, f := range map[string]**os.File{"stdout": &r.out, "stderr": &r.err} {
		var err error
		*f, err = os.Create(filepath.Join(filepath.Dir(r.stop), name))
		require.NoError(t, err)
		t.Cleanup(func() { (*f).Close() })
	}
	cmd.Stdout, cmd.Stderr = r.out, r.err
	cmd.Env = append(os.Environ(), "STOP="+r.stop)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it runs only if the test has failed
	return r
}

// text returns the content of a file that another process writes.
func content(t *testing.T, f *os.File) string {
	t.Helper()
	content, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return string(content)
}

// patience limits how long a test waits. No result depends on it.
const patience = 3 * time.Minute

// await returns when a condition holds.
func (r *recordRun) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no %s: %s", what, content(t, r.err))
	}
}

// counts returns how many snapshots of each process are in the manifest.
func (r *recordRun) counts() map[int]int {
	counts := map[int]int{}
	if m, err := manifest.Load(r.dir); err == nil && m != nil {
		for _, s := range m.Snapshots {
			counts[s.PID]++
		}
	}
	return counts
}

func (r *recordRun) count() (n int) {
	for _, c := range r.counts() {
		n += c
	}
	return n
}

// more returns when the recording has n snapshots more than now.
func (r *recordRun) more(t *testing.T, n int) {
	t.Helper()
	want := r.count() + n
	r.await(t, "more snapshots", func() bool { return r.count() >= want })
}

// end makes the program end and waits for record.
func (r *recordRun) end(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(r.stop, nil, 0o600))
	r.wait(t)
}

// kill sends record a signal and waits for its end.
func (r *recordRun) kill(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(signal))
	r.wait(t)
}

func (r *recordRun) wait(t *testing.T) {
	t.Helper()
	_ = r.cmd.Wait()
	r.state = r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	r.stdout, r.stderr = content(t, r.out), content(t, r.err)
}

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

// grows asserts which site growth lists first, or which has gained most. It does not assert the verdict: where the machine is busy, a
// recording of some seconds is uneven, and growth is rightly undecided.
func grows(t *testing.T, dir, function string) {
	t.Helper()
	sites := grown(t, dir, "--all").Sites
	require.NotEmpty(t, sites)
	most := slices.MaxFunc(sites, func(a, b foundSite) int { return cmp.Compare(a.gained(), b.gained()) })
	assert.Regexp(t, "(?m)"+function, sites[0].Blame.Function+"\n"+most.Blame.Function)
}

// gained is how much a site has gained at most: a program may free everything before its last snapshot.
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

// wholeSnapshots reads every snapshot of a directory and counts them by process. None may be truncated by the file system.
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

// TestRecordNamesItsDirectory: without -o the snapshots go to a new directory, whose name is printed with the next command.
func TestRecordNamesItsDirectory(t *testing.T) {
	t.Parallel()
	testutil.Need(t, "python3")
	cmd := exec.Command("heaplapse", "record", "--", "python3", program(t, "leak.py"))
	cmd.Dir = t.TempDir()
	r := begin(t, "", cmd)
	r.await(t, "directory", func() bool {
		found, err := filepath.Glob(filepath.Join(cmd.Dir, "heaplapse-python3-*"))
		require.NoError(t, err)
		if len(found) == 1 {
			r.dir = found[0]
		}
		return len(found) == 1
	})
	r.more(t, 6)
	r.end(t)
	assert.Equal(t, "ready\nsteps were made\n", r.stdout)
	assert.Regexp(t, `heaplapse: \d+ snapshots of process \d+; next: heaplapse growth heaplapse-python3-\d{8}-\d{6}\n`, r.stderr)
	grows(t, r.dir, pythonLeak)
}

// pythonLeak matches what growth names for leak.py, with and without the interpreter's symbols.
const pythonLeak = "pyrun_file|run_mod|python|Py"

func TestRecordPython(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "leak.py"))
		r.more(t, 12)
		r.end(t)
		assert.Equal(t, "ready\nsteps were made\n", r.stdout)
		assert.Equal(t, 0, r.state.ExitStatus())
		checkSidecar(t, r.dir, engine)
		grows(t, r.dir, pythonLeak)
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

// TestRecordAProgramThatDoesNotGrow: the program starts, and then stays as it is for most of the recording.
func TestRecordAProgramThatDoesNotGrow(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "flat.py"))
		r.more(t, 12+4*r.count())
		r.end(t)
		assert.Equal(t, 0, r.state.ExitStatus())
		assert.Empty(t, grown(t, r.dir).leaking())
	})
}

func TestRecordNumPy(t *testing.T) {
	t.Parallel()
	if exec.Command("/usr/bin/python3", "-c", "import numpy").Run() != nil {
		testutil.Missing(t, "python3-numpy")
	}
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", "/usr/bin/python3", program(t, "arrays.py"))
		r.more(t, 12)
		r.end(t)
		grows(t, r.dir, `multiarray|PyArray|npy`)
	})
}

// TestRecordAServer ends record by SIGTERM: the server gets it, after a last snapshot where the engine has a signal for that.
func TestRecordAServer(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", exe)
		r.more(t, 12)
		r.kill(t, syscall.SIGTERM)
		assert.Equal(t, syscall.SIGTERM, r.state.Signal(), "record ends as its program did")
		assert.NotContains(t, r.stderr, "warning")
		m := sidecar(t, r.dir)
		assert.Equal(t, "SIGTERM", m.Ends[0].Signal)
		if engine == "tcmalloc" {
			asked := func(s manifest.Snapshot) bool { return s.Trigger == "manual" }
			assert.True(t, slices.ContainsFunc(m.Snapshots, asked), "record asked for the last snapshot")
		}
		grows(t, r.dir, "^remember$")
	})
}

// TestRecordNode: frames of generated code have names.
func TestRecordNode(t *testing.T) {
	t.Parallel()
	node := testutil.Need(t, "node")
	needEngine(t, "tcmalloc")
	r := started(t, "--engine", "tcmalloc", "--every", "200ms", "--jit", "--", node, program(t, "leak.js"))
	r.more(t, 6)
	r.end(t)
	assert.Equal(t, 0, r.state.ExitStatus())
	m := sidecar(t, r.dir)
	perf := slices.IndexFunc(m.Files, func(f manifest.File) bool { return f.Kind == "perf-map" })
	require.GreaterOrEqual(t, perf, 0, "%v", m.Files)
	require.NoError(t, os.Remove(m.Files[perf].Path), "node leaves its map in /tmp")
	names := functions(t, r.dir)
	assert.True(t, names["leakBuffers"] || names["allocUnsafeSlow"], "no JavaScript function has a name")
}

// functions returns the names of the functions on all stacks of a recording.
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out, stderr, status := invokePlain("convert", "-q", "--merge", "-o", "-", dir)
	require.Equal(t, exitOK, status, stderr)
	p, err := profile.ParseData([]byte(out))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range p.Function {
		names[f.Name] = true
	}
	return names
}

// TestRecordNodeUnderJemalloc: jemalloc's unwinder stops at generated code, so a function of Node is named, or the place in its
// library where a distribution has removed the symbols.
func TestRecordNodeUnderJemalloc(t *testing.T) {
	t.Parallel()
	node := testutil.Need(t, "node")
	needEngine(t, "jemalloc")
	r := started(t, "--engine", "jemalloc", "--sample-period", "32KiB", "--every", "100ms", "--", node, program(t, "leak.js"))
	r.more(t, 12)
	r.end(t)
	assert.Equal(t, 0, r.state.ExitStatus())
	grows(t, r.dir, `^(node::Buffer::|libnode\.so)`)
}

// startMethods are how multiprocessing starts a worker: all of them with one engine, and with the other one in a full run.
func startMethods(engine string) []string {
	if engine == "tcmalloc" || testutil.Full() {
		return []string{"fork", "spawn"}
	}
	return []string{"fork"}
}

// TestRecordOnlyTheProgram: its children leave no snapshots, and the user is told. The workers live long enough for
// record to see them: it looks for children once a second.
func TestRecordOnlyTheProgram(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, start := range startMethods(engine) {
			r := started(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "workers.py"), start)
			time.Sleep(3 * time.Second)
			r.end(t)
			assert.Equal(t, "ready\nworkers are done\n", r.stdout)
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
			r := started(t, "--engine", engine, "--every", "100ms", "--follow-children", "--", python(t), program(t, "workers.py"), start)
			r.await(t, "growth in a series of each worker", func() bool { return growing(r) >= 2 })
			r.end(t)
			assert.Equal(t, "ready\nworkers are done\n", r.stdout)
			assert.NotContains(t, wholeSnapshots(t, r.dir), 0, "a snapshot without a process")
		}
	})
}

// growing returns how many processes have four snapshots and have grown by a mebibyte.
func growing(r *recordRun) (n int) {
	for pid, count := range r.counts() {
		if count < 4 {
			continue
		}
		s, err := series.Open([]string{r.dir}, series.Options{Process: strconv.Itoa(pid)})
		if err != nil {
			continue // a snapshot is being written
		}
		if last := len(s.Heads) - 1; s.Heads[last].Heap().InuseBytes > s.Heads[0].Heap().InuseBytes+1<<20 {
			n++
		}
		_ = s.Close()
	}
	return n
}

func TestRecordAForkingServer(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--follow-children", "--", "sh", "-c", `"$0" fork & trap 'pkill -TERM -P $!; kill $!; wait' TERM; wait`, exe)
		r.await(t, "series of the three children that serve", func() bool {
			long := 0
			for _, n := range r.counts() {
				if n >= 4 {
					long++
				}
			}
			return long >= 3
		})
		r.kill(t, syscall.SIGTERM)
		assert.GreaterOrEqual(t, len(wholeSnapshots(t, r.dir)), 3)
	})
}

// TestRecordUnderWrappers: the program is found below what starts it.
func TestRecordUnderWrappers(t *testing.T) {
	t.Parallel()
	py := python(t)
	script := program(t, "leak.py")
	for name, command := range map[string][]string{
		"timeout":    {"timeout", "300", py, script},
		"sh -c":      {"sh", "-c", `"$0" "$1"; exit 3`, py, script},
		"env":        {"env", "A=1", py, script},
		"exec chain": {"sh", "-c", `exec env nice bash -c 'exec "$0" "$1"' "$0" "$1"`, py, script},
		"all":        {"env", "timeout", "300", "sh", "-c", `true | cat; "$0" "$1"; exit 3`, py, script},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine string) {
				if engine == "jemalloc" && name != "all" && !testutil.Full() {
					return
				}
				r := started(t, append([]string{"--engine", engine, "--every", "100ms", "--"}, command...)...)
				r.more(t, 12)
				r.end(t)
				assert.Equal(t, "ready\nsteps were made\n", r.stdout)
				require.Len(t, wholeSnapshots(t, r.dir), 1, "snapshots of other programs are left")
				s, err := series.Open([]string{r.dir}, series.Options{})
				require.NoError(t, err)
				defer s.Close()
				assert.GreaterOrEqual(t, len(s.Heads), 2)
				assert.Contains(t, s.Spaces[len(s.Spaces)-1].Mappings[0].Path, "python")
			})
		})
	}
}

// TestRecordAProgramThatIsKilled: SIGALRM, which record passes on, makes timeout kill the program and itself by SIGKILL.
func TestRecordAProgramThatIsKilled(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", "timeout", "-s", "KILL", "300", exe)
		r.more(t, 12)
		r.kill(t, syscall.SIGALRM)
		assert.Equal(t, syscall.SIGKILL, r.state.Signal(), "record ends as its program did")
		wholeSnapshots(t, r.dir)
		grows(t, r.dir, "^remember$")
		r = recorded(t, "--engine", engine, "--every", "100ms", "--", "sh", "-c", `kill -KILL $$`)
		assert.Equal(t, syscall.SIGKILL, r.state.Signal())
		assert.Equal(t, "SIGKILL", sidecar(t, r.dir).Ends[0].Signal)
	})
}

// TestRecordIsKilled: the program goes on and writes snapshots. All of them can be read and are one series, and the manifest does not
// say how the recording ended.
func TestRecordIsKilled(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", exe)
		r.more(t, 8)
		r.kill(t, syscall.SIGKILL)
		m := sidecar(t, r.dir)
		assert.Empty(t, m.Ends)
		pid := m.Processes[0].PID
		files := func() []string {
			names, err := filepath.Glob(filepath.Join(r.dir, "*.heap"))
			require.NoError(t, err)
			return names
		}
		before := len(files())
		r.await(t, "snapshots after record's end", func() bool { return len(files()) > before+3 })
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		s, err := series.Open([]string{r.dir}, series.Options{})
		require.NoError(t, err)
		defer s.Close()
		assert.Greater(t, len(s.Heads), before+2, "the last one may be incomplete")
		assert.Len(t, s.Spaces, 1)
		for _, h := range s.Heads {
			assert.Contains(t, []int{0, pid}, h.File.PID)
		}
		grows(t, r.dir, "^remember$")
	})
}

// TestRecordOnAFullDisk: the program does not notice, the manifest says it, and the snapshots from before can be read.
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
		r := startedCmd(t, out, recordCmd(t, out, "--engine", engine, "--every", "50ms", "--", py, program(t, "leak.py")))
		r.await(t, "full disk", func() bool { return isFull(t, out) })
		r.end(t)
		assert.Equal(t, 0, r.state.ExitStatus())
		assert.Equal(t, "ready\nsteps were made\n", r.stdout)
		assert.Contains(t, r.stderr, "no space left on device")
		for line := range strings.Lines(r.stderr) {
			assert.True(t, strings.HasPrefix(line, "heaplapse: "), line)
		}
		m := sidecar(t, out)
		assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "no space left on device")
		assert.NotEmpty(t, wholeSnapshots(t, out))
	})
}

// isFull reports whether a directory's disk has no room for another snapshot as large as the largest one.
func isFull(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.heap"))
	require.NoError(t, err)
	largest := int64(0)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			largest = max(largest, info.Size())
		}
	}
	var disk syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &disk))
	return int64(disk.Bavail)*disk.Bsize < largest
}

// TestRecordWithLimitedFiles: the limit (ulimit -f) truncates large snapshots, and does not end the program by SIGXFSZ.
func TestRecordWithLimitedFiles(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordCmd(t, dir, "--engine", "tcmalloc", "--every", "50ms", "--", python(t), program(t, "leak.py"))
	cmd.Args = append([]string{"bash", "-c", `ulimit -f 16; exec "$@"`, "bash"}, cmd.Args...)
	cmd.Path = testutil.Need(t, "bash")
	r := startedCmd(t, dir, cmd)
	r.await(t, "truncated snapshot", func() bool { return atLimit(t, dir, 16<<10) >= 3 })
	r.end(t)
	assert.Equal(t, 0, r.state.ExitStatus())
	assert.Equal(t, "ready\nsteps were made\n", r.stdout)
	assert.Regexp(t, `heaplapse: warning: \d+ snapshots were cut short and are not used \(files are limited to 16 KiB: ulimit -f\)\n`, r.stderr)
	m := sidecar(t, dir)
	assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "were cut short")
	assert.NotEmpty(t, m.Snapshots, "the small ones")
}

// atLimit returns the number of snapshots that are as large as a limit.
func atLimit(t *testing.T, dir string, limit int64) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.heap"))
	require.NoError(t, err)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Size() >= limit {
			n++
		}
	}
	return n
}

// TestRecordKeepsAFew: --keep removes snapshots between the first and the last.
func TestRecordKeepsAFew(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "50ms", "--keep", "7", "--", python(t), program(t, "leak.py"))
		r.more(t, 14)
		r.end(t)
		files, err := filepath.Glob(filepath.Join(r.dir, "*.heap"))
		require.NoError(t, err)
		m := sidecar(t, r.dir)
		atExit := 0 // removed because the program freed its memory to exit
		for _, d := range m.Dropped {
			if d.Reason == manifest.DropTeardown {
				atExit++
			}
		}
		assert.Len(t, files, 7-atExit)
		assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[0].File), "the first one is kept")
		assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[len(m.Snapshots)-1].File), "the last one is kept")
	})
}

func TestRecordOnASignal(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	r := started(t, "--signal", "USR2", "--every", "0", "--", server(t))
	for n := 1; n <= 3; n++ { // record passes signals on
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGUSR2))
		r.await(t, "snapshot", func() bool { return r.count() >= n })
	}
	r.kill(t, syscall.SIGTERM)
	for _, s := range sidecar(t, r.dir).Snapshots {
		assert.Equal(t, "manual", s.Trigger)
	}
}

func TestRecordForSomeTime(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--duration", "1s", "--", server(t))
		assert.Equal(t, syscall.SIGTERM, r.state.Signal())
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
