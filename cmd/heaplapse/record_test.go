//go:build linux

package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of this file run real programs under the real allocators. A program runs until its test
// has seen the snapshots that it needs. The tests assert what record promises (snapshots, manifest,
// status), which does not depend on how fast the machine is.

// TestRecordNamesItsDirectory: without -o the snapshots go to a new directory, whose name is
// printed with the next command.
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
	grows(t, r.dir, pythonLeak(manifestOf(t, r.dir).Recording.Engine))
}

// pythonLeak matches what growth names for leak.py: the function of the script, which the built-in
// engine sees, or functions of the interpreter, with and without its symbols.
func pythonLeak(engine string) string {
	if engine == "builtin" {
		return "^step$"
	}
	return "pyrun_file|run_mod|python|Py"
}

func TestRecordPython(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "leak.py"))
		r.more(t, 12)
		r.end(t)
		assert.Equal(t, "ready\nsteps were made\n", r.stdout)
		assert.Equal(t, 0, r.state.ExitStatus())
		checkManifest(t, r.dir, engine)
		grows(t, r.dir, pythonLeak(engine))
	})
}

// TestRecordLinesOfPython: the built-in engine records the line that leaks, and the files that name
// it belong to the recording.
func TestRecordLinesOfPython(t *testing.T) {
	t.Parallel()
	script := program(t, "leak.py")
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(text), "    kept.append(")
	require.True(t, found)
	r := started(t, "--engine", "builtin", "--sample-period", "16KiB", "--every", "100ms", "--", python(t), script)
	r.more(t, 12)
	r.end(t)
	sites := grown(t, r.dir, "--all").Sites
	require.NotEmpty(t, sites)
	most := slices.MaxFunc(sites, func(a, b foundSite) int { return cmp.Compare(a.gained(), b.gained()) })
	assert.Equal(t, "step", most.Blame.Function)
	assert.Equal(t, script, most.Blame.File)
	assert.Equal(t, 1+strings.Count(before, "\n"), most.Blame.Line)

	m := manifestOf(t, r.dir)
	assert.Equal(t, int64(16<<10), m.Recording.Sampling)
	assert.Empty(t, m.Problems)
	frames := slices.DeleteFunc(m.Files, func(f manifest.File) bool { return f.Kind != manifest.KindFrames })
	require.Len(t, frames, 1)
	assert.FileExists(t, filepath.Join(r.dir, frames[0].File))
	left, err := filepath.Glob(filepath.Join(r.dir, "*.events.jsonl"))
	require.NoError(t, err)
	assert.Empty(t, left, "the manifest has what they told")
}

// checkManifest checks the manifest of a program that ended by itself.
func checkManifest(t *testing.T, dir, engine string) {
	t.Helper()
	m := manifestOf(t, dir)
	assert.Equal(t, engine, m.Recording.Engine)
	require.NotEmpty(t, m.Processes)
	pid := m.Processes[0].PID
	cpu := int64(0)
	sized, shared := 0, 0 // of a snapshot at the very end the process may be gone
	for _, s := range m.Snapshots {
		assert.Equal(t, pid, s.PID)
		assert.Contains(t, []string{"time", "exit"}, s.Trigger)
		if s.RSS != nil {
			sized++
			assert.Greater(t, *s.RSS, int64(1<<20))
			if s.PSS != nil { // the process may be gone; the engine then has told RSS
				shared++
				assert.LessOrEqual(t, *s.PSS, *s.RSS)
			}
		}
		if s.CPU != nil {
			assert.GreaterOrEqual(t, *s.CPU, cpu)
			cpu = *s.CPU
		}
	}
	assert.Greater(t, 2*sized, len(m.Snapshots))
	assert.Positive(t, shared, "the recorder saw a snapshot while the process ran")
	assert.Positive(t, cpu)
	assert.Equal(t, "exit", m.Snapshots[len(m.Snapshots)-1].Trigger)
	libc := slices.IndexFunc(m.Mappings, func(f manifest.Mapping) bool { return strings.HasPrefix(filepath.Base(f.Path), "libc") })
	require.GreaterOrEqual(t, libc, 0)
	assert.Regexp(t, `^[0-9a-f]{16,}$`, m.Mappings[libc].BuildID)
	require.Len(t, m.Ends, 2)
	assert.Equal(t, pid, m.Ends[0].PID)
	assert.Equal(t, 0, *m.Ends[0].Status)
	assert.Equal(t, manifest.End{Time: m.Ends[1].Time}, m.Ends[1], "the recording ended without an error")
}

// TestRecordAProgramThatDoesNotGrow: the program starts, and then stays as it is for most of the
// recording.
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
		want := "multiarray|PyArray|npy"
		if engine == "builtin" {
			want = "^<module>$" // the line of the script that made the array
		}
		grows(t, r.dir, want)
	})
}

// TestRecordAServer ends record by SIGTERM: the server gets it, after a last snapshot where the
// engine has a signal for that.
func TestRecordAServer(t *testing.T) {
	t.Parallel()
	exe := server(t)
	link := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, os.Symlink(exe, link))
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", link)
		r.more(t, 12)
		r.kill(t, syscall.SIGTERM)
		assert.Equal(t, syscall.SIGTERM, r.state.Signal(), "record ends as its program did")
		assert.NotContains(t, r.stderr, "warning")
		m := manifestOf(t, r.dir)
		assert.Equal(t, "SIGTERM", m.Ends[0].Signal)
		assert.Equal(t, link, m.Processes[0].Link)
		top, _, _ := invokePlain("top", "-q", "--top", "1000", r.dir, "--sample", "alloc_space")
		assert.Regexp(t, `_start +shop\n`, top, "the program is called by the link")
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
	m := manifestOf(t, r.dir)
	perf := slices.IndexFunc(m.Files, func(f manifest.File) bool { return f.Kind == "perf-map" })
	require.GreaterOrEqual(t, perf, 0, "%v", m.Files)
	require.NoError(t, os.Remove(m.Files[perf].Path), "node leaves its map in /tmp")
	names := functions(t, r.dir)
	assert.True(t, names["leakBuffers"] || names["allocUnsafeSlow"], "no JavaScript function has a name")
}

// TestRecordJava: methods that were compiled have names.
func TestRecordJava(t *testing.T) {
	t.Parallel()
	if !testutil.Full() {
		t.Skip("HEAPLAPSE_FULL=1 records a Java program")
	}
	java := testutil.Need(t, "java")
	testutil.Need(t, "javac")
	dir := filepath.Join(t.TempDir(), "heap")
	cmd := exec.Command("heaplapse", "record", "-q", "--jit", "-o", dir, "--", java, program(t, "Leak.java"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.True(t, functions(t, dir)["Leak.handle"], "no method has a name")
	for _, f := range manifestOf(t, dir).Files {
		if f.Kind == "perf-map" {
			require.NoError(t, os.Remove(f.Path), "the JVM leaves its map in /tmp")
		}
	}
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

// TestRecordNodeUnderJemalloc: jemalloc's unwinder stops at generated code, so a function of Node
// is named, or the place in its library where a distribution has removed the symbols.
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

// TestRecordReusedBlocks: snapshots are taken by time also if the program allocates only blocks that the
// allocator has cached. jemalloc itself would take one when it has given 256 MiB to the caches. The program
// allocates some 20 MB at most in the time between two snapshots.
func TestRecordReusedBlocks(t *testing.T) {
	t.Parallel()
	gcc := testutil.Need(t, "gcc")
	exe := filepath.Join(t.TempDir(), "cached")
	out, err := exec.Command(gcc, "-O1", "-o", exe, program(t, "cached.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "50ms", "--keep", "0", "--", exe)
		r.more(t, 10)
		r.end(t)
		assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
		timed := 0
		for _, s := range manifestOf(t, r.dir).Snapshots {
			if s.Trigger == "time" {
				timed++
			}
		}
		assert.GreaterOrEqual(t, timed, 10)
		if engine != "jemalloc" {
			return
		}
		s, err := series.Open([]string{r.dir}, series.Options{})
		require.NoError(t, err)
		defer s.Close()
		for i, head := range s.Heads[1:] {
			assert.Less(t, head.Heap().AllocBytes-s.Heads[i].Heap().AllocBytes, int64(128<<20), "before snapshot %d", i+2)
		}
	})
}

// TestRecordLargeBlocks: with a timer, jemalloc takes no snapshot for each 256 MiB that the program allocates.
func TestRecordLargeBlocks(t *testing.T) {
	t.Parallel()
	needEngine(t, "jemalloc")
	exe := filepath.Join(t.TempDir(), "large")
	compileC(t, exe, `#include <stdlib.h>
int main(void) {
	for (int i = 0; i < 2048; i++) {
		char *volatile block = malloc(1 << 20);
		*block = 1;
		free(block);
	}
}`)
	r := recorded(t, "--engine", "jemalloc", "--every", "1h", "--", exe)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	var triggers []string
	for _, s := range manifestOf(t, r.dir).Snapshots {
		triggers = append(triggers, s.Trigger)
	}
	assert.Equal(t, []string{"time", "exit"}, triggers)
}

// startMethods are how multiprocessing starts a worker: all of them with one engine, and with the
// other one in a full run.
func startMethods(engine string) []string {
	if engine == "tcmalloc" || testutil.Full() {
		return []string{"fork", "spawn"}
	}
	return []string{"fork"}
}

// TestRecordOnlyTheProgram: with --main-only, its children leave no snapshots, and the user is told. Record looks for
// children once a second, and takes those that are two seconds old for workers. Fifty snapshots of the
// parent take five seconds at least, however busy the machine is. Later commands know of the workers, too.
func TestRecordOnlyTheProgram(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, start := range startMethods(engine) {
			r := started(t, "--engine", engine, "--every", "100ms", "--main-only", "--", python(t), program(t, "workers.py"), start)
			r.more(t, 50)
			r.end(t)
			assert.Equal(t, "ready\nworkers are done\n", r.stdout)
			out, err := exec.Command("heaplapse", "growth", r.dir).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.NotContains(t, string(out), "NO-LEAK: ")
			assert.Contains(t, string(out), "child processes that run the same program, and were not recorded: ")
			assert.Len(t, wholeSnapshots(t, r.dir), 1, start)
			assert.Contains(t, r.stderr, "without --main-only, those that run the same program are recorded")
		}
	})
}

// TestRecordWorkers: workers are recorded by default. Each has its own series.
func TestRecordWorkers(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, start := range startMethods(engine) {
			r := started(t, "--engine", engine, "--every", "100ms", "--", python(t), program(t, "workers.py"), start)
			r.await(t, "growth in a series of each worker", func() bool { return growing(r) >= 2 })
			r.end(t)
			assert.Equal(t, "ready\nworkers are done\n", r.stdout)
			assert.NotContains(t, wholeSnapshots(t, r.dir), 0, "a snapshot without a process")
		}
	})
}

// TestRecordTellsOfSurvivors: workers that go on when the program has ended are not recorded any more.
func TestRecordTellsOfSurvivors(t *testing.T) {
	t.Parallel()
	needRecorder(t, "heaplapse")
	dir := filepath.Join(t.TempDir(), "out")
	r := begin(t, dir, recordCmd(t, dir, "--engine", "builtin", "--every", "100ms", "--", python(t), program(t, "survivor.py")))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(r.stop+".worker", nil, 0o600)) })
	r.await(t, "snapshots of both", func() bool { return len(r.counts()) == 2 })
	r.end(t)
	assert.Regexp(t, `warning: not recorded any more: 1 process that the program left running: \d+\n`, r.stderr)
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
		r := started(t, "--engine", engine, "--every", "100ms", "--", "sh", "-c", `"$0" fork & trap 'pkill -TERM -P $!; kill $!; wait' TERM; wait`, exe)
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

// TestRecordByALink: a program that is started by a symbolic link finds its libraries, which are in a place
// relative to its file ($ORIGIN), as Java's are.
func TestRecordByALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gcc := testutil.Need(t, "gcc")
	for _, sub := range []string{"opt/lib", "opt/bin", "bin"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "l.c"), []byte("int three(void) { return 3; }"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte("int three(void); int main(void) { return three(); }"), 0o600))
	for _, args := range [][]string{
		{"-shared", "-fPIC", "l.c", "-o", "opt/lib/libthree.so"}, {"a.c", "-o", "opt/bin/app", "-Lopt/lib", "-lthree", "-Wl,-rpath,$ORIGIN/../lib"},
	} {
		cmd := exec.Command(gcc, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	link := filepath.Join(dir, "bin/app")
	require.NoError(t, os.Symlink("../opt/bin/app", link))
	for _, name := range []string{link, "bin/app", "./bin/app"} {
		out := filepath.Join(t.TempDir(), "out")
		cmd := recordCmd(t, out, "--", name)
		cmd.Dir = dir
		r := begin(t, out, cmd)
		r.wait(t)
		assert.Equal(t, 3, r.state.ExitStatus())
		assert.NotEmpty(t, wholeSnapshots(t, r.dir), r.stderr)
	}
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

// TestRecordAProgramThatIsKilled: SIGALRM, which record passes on, makes timeout kill the program
// and itself by SIGKILL.
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
		assert.Equal(t, "SIGKILL", manifestOf(t, r.dir).Ends[0].Signal)
	})
}

// TestRecordIsKilled: the program goes on. All snapshots can be read and are one series, and the manifest
// does not say how the recording ended.
func TestRecordIsKilled(t *testing.T) {
	t.Parallel()
	exe := server(t)
	eachEngine(t, func(t *testing.T, engine string) {
		r := started(t, "--engine", engine, "--every", "100ms", "--", exe)
		r.more(t, 8)
		r.kill(t, syscall.SIGKILL)
		m := manifestOf(t, r.dir)
		assert.Empty(t, m.Ends)
		pid := m.Processes[0].PID
		before := len(snapshotFiles(t, r.dir))
		require.NoError(t, syscall.Kill(pid, 0), "the program goes on")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		s, err := series.Open([]string{r.dir}, series.Options{})
		require.NoError(t, err)
		defer s.Close()
		assert.GreaterOrEqual(t, len(s.Heads), before)
		assert.Len(t, s.Spaces, 1)
		for _, h := range s.Heads {
			assert.Contains(t, []int{0, pid}, h.File.PID)
		}
		grows(t, r.dir, "^remember$")
	})
}

// TestRecordOnAFullDisk: the program does not notice, the manifest says it, and the snapshots from
// before can be read.
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
		r := startedCmd(t, out, recordCmd(t, out, "--engine", engine, "--every", "50ms", "--no-compress", "--",
			py, program(t, "leak.py")))
		r.await(t, "full disk", func() bool { return isFull(t, out) })
		fill(t, filepath.Join(dir, "other")) // the heap is smaller at the end, and its snapshot could fit
		r.end(t)
		assert.Equal(t, 0, r.state.ExitStatus())
		assert.Equal(t, "ready\nsteps were made\n", r.stdout)
		assert.Contains(t, r.stderr, "no space left on device")
		for line := range strings.Lines(r.stderr) {
			assert.True(t, strings.HasPrefix(line, "heaplapse: "), line)
		}
		m := manifestOf(t, out)
		assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "no space left on device")
		info, _, _ := invokePlain("info", out)
		assert.Regexp(t, `(?m)^recording: the recorder reports: .*no space left on device`, info)
		assert.NotEmpty(t, wholeSnapshots(t, out))
	})
}

// fill writes a file until the disk has no more space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}

// isFull reports whether a directory's disk has no room for another snapshot as large as the
// largest one.
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

// manyStacks allocates on 4096 different stacks: its snapshots have more than 500 KiB.
const manyStacks = `#include <stdlib.h>
static void *right(unsigned bits, int depth);
static __attribute__((noinline)) void *left(unsigned bits, int depth) {
	void *p = depth == 0 ? malloc(100) : bits & 1 ? right(bits / 2, depth - 1) : left(bits / 2, depth - 1);
	__asm__ volatile("" : "+r"(p));
	return p;
}
static __attribute__((noinline)) void *right(unsigned bits, int depth) {
	void *p = depth == 0 ? malloc(200) : bits & 1 ? right(bits / 2, depth - 1) : left(bits / 2, depth - 1);
	__asm__ volatile("" : "+r"(p));
	return p;
}
int main(void) {
	for (unsigned i = 0; i < 4096; i++) *(volatile char *)left(i, 12) = 1;
	return 3;
}
`

// TestRecordWithLimitedFiles: the limit (ulimit -f) holds for the files that record writes. The program
// does not notice.
func TestRecordWithLimitedFiles(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "stacks")
	compileC(t, exe, manyStacks)
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordCmd(t, dir, "--engine", "builtin", "--sample-period", "1", "--", exe)
	cmd.Args = append([]string{"bash", "-c", `ulimit -f 270; exec "$@"`, "bash"}, cmd.Args...) // in KiB
	cmd.Path = testutil.Need(t, "bash")
	r := begin(t, dir, cmd)
	r.wait(t)
	assert.Equal(t, 3, r.state.ExitStatus())
	assert.Contains(t, r.stderr, "file too large")
	m := manifestOf(t, dir)
	assert.Contains(t, m.Ends[len(m.Ends)-1].Error, "file too large")
}

// TestRecordKeepsAFew: --keep limits the number of snapshots of a process, and --keep-bytes the size of all, but
// 12 of each process are kept. Those between the first and the last are removed.
func TestRecordKeepsAFew(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for flag, keeps := range map[string]int{"--keep=7": 7, "--keep-bytes=1KiB": 12} {
			r := started(t, "--engine", engine, "--every", "50ms", flag, "--", python(t), program(t, "leak.py"))
			r.more(t, 2*keeps)
			r.end(t)
			files := snapshotFiles(t, r.dir)
			m := manifestOf(t, r.dir)
			atExit := 0 // removed because the program freed its memory to exit
			for _, d := range m.Dropped {
				if d.Reason == manifest.DropTeardown {
					atExit++
				}
			}
			assert.Len(t, files, keeps-atExit, flag)
			assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[0].File), "the first one is kept")
			assert.Contains(t, files, filepath.Join(r.dir, m.Snapshots[len(m.Snapshots)-1].File), "the last one is kept")
		}
	})
}

// TestRecordingsAreLimited: by default a recording has at most 500 snapshots of each process, and 2 GiB.
func TestRecordingsAreLimited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		bytes int64
	}{
		{nil, 2 << 30}, {[]string{"--keep-bytes", "1MiB"}, 1 << 20}, {[]string{"--keep-bytes", "0"}, 0},
	} {
		recorded := parsed(t, &recordFlags{}, c.args)
		assert.Equal(t, c.bytes, recorded.KeepBytes, "record %s", c.args)
		assert.Equal(t, 500, recorded.Keep)
		attached := parsed(t, &attachFlags{}, c.args)
		assert.Equal(t, c.bytes, attached.KeepBytes, "attach %s", c.args)
		assert.Equal(t, 500, attached.Keep)
	}
}

// parsed returns the options that arguments give.
func parsed[O any](t *testing.T, flags interface {
	add(cmd *cobra.Command)
	options() (O, error)
}, args []string,
) O {
	t.Helper()
	var cmd cobra.Command
	flags.add(&cmd)
	require.NoError(t, cmd.ParseFlags(args))
	o, err := flags.options()
	require.NoError(t, err)
	return o
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
	for _, s := range manifestOf(t, r.dir).Snapshots {
		assert.Equal(t, "manual", s.Trigger)
	}
}

func TestRecordForSomeTime(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		r := recorded(t, "--engine", engine, "--duration", "1s", "--", server(t))
		assert.Equal(t, syscall.SIGTERM, r.state.Signal())
		assert.Contains(t, r.stderr, "heaplapse: --duration 1s is over", "it was asked for, and is no warning")
		end := manifestOf(t, r.dir).Ends[0]
		assert.NotZero(t, end.PID)
		assert.False(t, end.Asked.IsZero() || end.Asked.After(end.Time), "what it does then belongs to its end: %v", end)
	})
}

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

// TestRecordNamesThePackage: the error for a library without a profiler names the package that has
// one.
func TestRecordNamesThePackage(t *testing.T) {
	t.Parallel()
	minimal := testutil.NeedFile(t, "/usr/lib/*/libtcmalloc_minimal.so.4")
	_, stderr, code := invokePlain("record", "--engine", "tcmalloc", "--library", minimal, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, stderr, "libtcmalloc_minimal.so.4 has no heap profiler")
}

// TestRecordHintsAtJavaScript: --jit is advised only where stacks have JavaScript functions.
func TestRecordHintsAtJavaScript(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		content, err := os.ReadFile(testutil.Need(t, "true"))
		require.NoError(t, err)
		node := filepath.Join(dir, "node")
		require.NoError(t, os.WriteFile(node, content, 0o755))
		out, err := exec.Command("heaplapse", "record", "--engine", engine, "-o", filepath.Join(dir, "out"), "--", node).CombinedOutput()
		require.NoError(t, err, string(out))
		if engine == "jemalloc" {
			assert.Contains(t, string(out), "hint: jemalloc shows no JavaScript functions; the built-in engine and tcmalloc do, with --jit\n")
			return
		}
		assert.Contains(t, string(out), "hint: use --jit to see the names of JavaScript functions\n")
	})
}
