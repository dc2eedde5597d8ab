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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// eachEngine runs a test under every engine.
func eachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	for _, engine := range []string{"builtin", "tcmalloc", "jemalloc"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			needEngine(t, engine)
			test(t, engine)
		})
	}
}

func needEngine(t *testing.T, engine string) {
	t.Helper()
	err := once("engine "+engine, func() error {
		return command("", "heaplapse", "record", "--dry-run", "--engine", engine, "--", "true")
	})
	if err != nil {
		t.Log(err)
		testutil.Missing(t, "the library of "+engine)
	}
}

// python returns the path of the interpreter: python3 may be a wrapper.
func python(t *testing.T) string {
	t.Helper()
	testutil.Need(t, "python3")
	path, err := interpreter()
	require.NoError(t, err)
	return path
}

var interpreter = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// program returns the path of a file in testdata/record.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/record", name))
	require.NoError(t, err)
	return path
}

// server compiles server.cc. Tests share the program.
func server(t *testing.T) string {
	t.Helper()
	return built(t, "server", "g++", "-g", "-O1", "-fno-omit-frame-pointer", program(t, "server.cc"))
}

// ownServer returns a copy of the server, which the test may change.
func ownServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	require.NoError(t, command("", "cp", server(t), path))
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

// recordCmd returns the command heaplapse record, which runs in a new, empty directory.
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

// begin starts a command. Its output goes to files: a program that outlives record would keep a
// pipe open.
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

// content returns what another process has written to a file so far.
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

func manifestOf(t *testing.T, dir string) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Load(dir)
	require.NoError(t, err)
	require.NotNil(t, m)
	return m
}

// grown returns the result of growth for a directory.
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

// grows asserts which site growth lists first, or which has gained most. It does not assert the
// verdict: where the machine is busy, a recording of some seconds is uneven, and growth is rightly
// undecided.
func grows(t *testing.T, dir, function string) {
	t.Helper()
	sites := grown(t, dir, "--all").Sites
	require.NotEmpty(t, sites)
	most := slices.MaxFunc(sites, func(a, b foundSite) int { return cmp.Compare(a.gained(), b.gained()) })
	assert.Regexp(t, "(?m)"+function, sites[0].Blame.Function+"\n"+most.Blame.Function)
}

// gained is how much a site has gained at most: a program may free everything before its last
// snapshot.
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

// wholeSnapshots reads every snapshot of a directory and counts them by process. None may be
// truncated by the file system.
func wholeSnapshots(t *testing.T, dir string) map[int]int {
	t.Helper()
	count := map[int]int{}
	for _, f := range snapshotFiles(t, dir) {
		s, err := series.Open([]string{f}, series.Options{})
		require.NoError(t, err)
		assert.False(t, s.Heads[0].Completeness.Unfinished, f)
		count[filename.Parse(f).PID]++
		require.NoError(t, s.Close())
	}
	return count
}

// snapshotFiles returns the paths of the snapshots in a directory, without the suffix of those that are
// compressed.
func snapshotFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.heap*"))
	require.NoError(t, err)
	for _, path := range found {
		isHidden := strings.HasPrefix(filepath.Base(path), ".")                                       // Go's * matches these
		if !isHidden && !manifest.IsBeside(filepath.Base(path)) && !strings.HasSuffix(path, ".tmp") { // those are being written
			paths = append(paths, filename.TrimCompression(path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// invokePlain is invoke for parallel tests.
func invokePlain(args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command("heaplapse", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
