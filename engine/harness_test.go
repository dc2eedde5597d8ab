//go:build linux

package engine

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// engineFile writes the engine for this processor into a temporary directory.
func engineFile(t *testing.T) string {
	t.Helper()
	machine := testutil.Machine()
	if Object(machine) == nil {
		t.Skip("there is no engine for " + runtime.GOARCH)
	}
	path := filepath.Join(t.TempDir(), Name)
	require.NoError(t, os.WriteFile(path, Object(machine), 0o755))
	return path
}

// compile builds a program of testdata and returns its path. Addresses in the program are those of
// its symbols.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	args := []string{
		"-O1", "-g", "-Wall", "-fno-pie", "-no-pie", "-pthread", "-o", program, filepath.Join("testdata", source),
	}
	out, err := exec.Command(testutil.Need(t, compiler), append(args, flags...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// recording is one program that is run under the engine.
type recording struct {
	cmd            *exec.Cmd
	prefix         string
	receiver       *channel.Receiver
	stdout, stderr bytes.Buffer
}

// record prepares a program. settings overrides the settings that make the engine record every
// allocation, and only at exit. The engine is patient, because the machine may be busy.
func record(t *testing.T, settings, program string, args ...string) *recording {
	t.Helper()
	r := &recording{cmd: exec.Command(program, args...), prefix: filepath.Join(t.TempDir(), "p")}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	var err error
	r.receiver, err = channel.Listen(r.prefix)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.receiver.Close() })
	r.cmd.Env = append(os.Environ(), "LD_PRELOAD="+engineFile(t), Variable+"="+r.settings(settings))
	return r
}

func (r *recording) settings(more string) string {
	return "period=1 every=0 children=0 patience=60000 " + more + " main=0000000 " + r.receiver.Settings()
}

// run runs the program, which must succeed and write nothing to standard error.
func (r *recording) run(t *testing.T) *recording {
	t.Helper()
	require.NoError(t, r.cmd.Run(), r.stderr.String())
	require.Empty(t, r.stderr.String())
	r.receiver.Flush()
	return r
}

// exitOf returns the status of a program, or the signal that ended it.
func exitOf(err error) (status int, signal string) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, ""
	}
	if exit.ExitCode() >= 0 {
		return exit.ExitCode(), ""
	}
	return 0, exit.String()
}

func (r *recording) files(t *testing.T) (names []string) {
	t.Helper()
	r.receiver.Flush()
	entries, err := os.ReadDir(filepath.Dir(r.prefix))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (r *recording) path(format string, args ...any) string {
	return r.prefix + fmt.Sprintf(format, args...)
}

// heaps returns the number of snapshots of all processes.
func (r *recording) heaps() int {
	r.receiver.Flush()
	all, _ := filepath.Glob(r.path("_*.heap"))
	return len(all)
}

// snapshots reads the snapshots of the program's process, in order.
func (r *recording) snapshots(t *testing.T) (list []*heapfile.Snapshot) {
	t.Helper()
	r.receiver.Flush()
	paths, err := filepath.Glob(r.path("_%d.*.heap", r.cmd.Process.Pid))
	require.NoError(t, err)
	slices.Sort(paths)
	for _, path := range paths {
		list = append(list, readSnapshot(t, path))
	}
	return list
}

func (r *recording) last(t *testing.T) *heapfile.Snapshot {
	t.Helper()
	list := r.snapshots(t)
	require.NotEmpty(t, list, r.files(t))
	return list[len(list)-1]
}

// readSnapshot reads a snapshot, which must be complete and consistent.
func readSnapshot(t *testing.T, path string) *heapfile.Snapshot {
	t.Helper()
	s, err := heapfile.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, s.Warnings)
	var sum heapfile.Counts
	for _, row := range s.Samples {
		sum = sum.Add(row.Counts)
	}
	require.Equal(t, s.Total, sum, "the header is the sum of the rows")
	require.NotEmpty(t, s.Mappings)
	return s
}

// event is a line of an events file.
type event struct {
	Schema  string
	Image   int
	StartNS int64 `json:"start_ns"`
	Start   *struct {
		Exe    string
		Argv   []string
		Forked bool
		Libc   string
	}
	Snapshot *struct {
		Seq, Signal  int
		Trigger      string
		RSS          int64
		CPU          int64   `json:"cpu_ns"`
		TimeNS       int64   `json:"time_ns"`
		Milliseconds float64 `json:"ms"`
		Cost         float64 `json:"cpu_ms"` // of the thread that writes it
	}
	Problem *struct {
		Kind, Detail string
		Count        int
	}
}

func (r *recording) events(t *testing.T, pid int) []event {
	r.receiver.Flush()
	return readEvents(t, r.path(".%d.events.jsonl", pid))
}

func readEvents(t *testing.T, path string) (list []event) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var e event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		list = append(list, e)
	}
	return list
}

// triggers returns the triggers of the snapshots, in order.
func triggers(events []event) (list []string) {
	for _, e := range events {
		if e.Snapshot != nil {
			list = append(list, e.Snapshot.Trigger)
		}
	}
	return list
}

// problems returns the kinds of the problems.
func problems(events []event) (list []string) {
	for _, e := range events {
		if e.Problem != nil {
			list = append(list, e.Problem.Kind)
		}
	}
	return list
}

// functions are the functions of a program.
type functions []elf.Symbol

func functionsOf(t *testing.T, program string) functions {
	t.Helper()
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.Symbols()
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC })
}

// at returns the name of the function that contains an address, or "".
func (f functions) at(address uint64) string {
	for _, s := range f {
		if address-s.Value < s.Size {
			return s.Name
		}
	}
	return ""
}

// site returns the innermost function of the program on a stack whose name begins with site_.
func (f functions) site(stack []heapfile.Addr) string {
	for _, a := range stack {
		if name := f.at(uint64(a) - 1); strings.HasPrefix(name, "site_") {
			return strings.TrimPrefix(name, "site_")
		}
	}
	return ""
}

// bySite returns the counts of each function site_… of the program.
func (f functions) bySite(s *heapfile.Snapshot) map[string]heapfile.Counts {
	sums := map[string]heapfile.Counts{}
	for _, row := range s.Samples {
		if name := f.site(s.Stacks.Addrs(row.Stack)); name != "" {
			sums[name] = sums[name].Add(row.Counts)
		}
	}
	return sums
}
