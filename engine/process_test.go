//go:build linux

package engine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

func TestMain(m *testing.M) {
	testutil.Foreground(syscall.SIGINT)
	os.Exit(m.Run())
}

func processProgram(t *testing.T) string {
	return compile(t, "gcc", "process.c", "-fno-builtin", "-ldl")
}

// TestForks forks while other threads allocate and snapshots are taken. No child may hang: the test
// would not end.
func TestForks(t *testing.T) {
	n := "30"
	if testutil.Full() {
		n = "4000"
	}
	program := processProgram(t)
	for _, children := range []int{0, 1, 2} {
		r := record(t, fmt.Sprintf("period=512 every=10 children=%d", children), program, "forks", n).run(t)
		assert.Equal(t, "0 bad\n", r.stdout.String())
		assert.NotEmpty(t, r.snapshots(t))
		all, err := filepath.Glob(r.path("_*.0001.heap"))
		require.NoError(t, err)
		if children != 1 { // these are recorded if the machine is so busy that they live for a second
			assert.Equal(t, children == 2, len(all) > 1, "children are recorded if the settings say so")
		}
	}
}

// TestStress runs a program with threads that come and go, a signal handler, and a library that is
// loaded and unloaded while other threads look for an interpreter.
func TestStress(t *testing.T) {
	program := processProgram(t)
	library := filepath.Join(t.TempDir(), "unloaded.so")
	out, err := exec.Command("gcc", "-O1", "-fPIC", "-shared", "-o", library, "testdata/unloaded.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	times := 4
	if testutil.Full() {
		times = 300
	}
	for range times {
		r := record(t, "period=256 every=10", program, "stress", library).run(t)
		assert.Equal(t, "ok\n", r.stdout.String())
		assert.NotEmpty(t, r.snapshots(t))
		assert.Empty(t, problems(r.events(t, r.cmd.Process.Pid)))
	}
}

// TestExec checks that the last state of a process image is not lost, and that the next image of the
// process has files of its own.
func TestExec(t *testing.T) {
	program := processProgram(t)
	names := functionsOf(t, program)
	for _, how := range []string{
		"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
	} {
		if how == "execveat" && exec.Command(program, "exec", how).Run() != nil {
			t.Log("this C library has no execveat: glibc has it from 2.34 on")
			continue
		}
		r := record(t, "", program, "exec", how).run(t)
		pid := r.cmd.Process.Pid
		list := r.snapshots(t)
		require.Len(t, list, 2, how)
		assert.EqualValues(t, 1000, names.bySite(list[0])["keep"].InuseBytes, how)
		assert.EqualValues(t, 2000, names.bySite(list[1])["keep"].InuseBytes, how)
		assert.Equal(t, []string{"exec"}, triggers(r.events(t, pid)), how)
		second := readEvents(t, r.path(".%d.1.events.jsonl", pid))
		assert.Equal(t, []string{"exit"}, triggers(second), how)
		assert.Equal(t, 1, second[0].Image)
	}
}

// TestChildren checks which processes are recorded.
func TestChildren(t *testing.T) {
	program := processProgram(t)
	r := record(t, "", program, "spawn").run(t)
	assert.Equal(t, "3\n", r.stdout.String(), "the status of a vfork child")
	assert.Len(t, r.files(t), 2, "one snapshot and the events of the program only: %v", r.files(t))

	r = record(t, "children=2", program, "spawn").run(t)
	all, err := filepath.Glob(r.path("_*.heap"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(all), 4, "the program, two children, and the shell: %v", r.files(t))
}

// TestWorkers: forks of the main program are recorded, and processes that run its file, also by another
// name, or a newer file of its name. Another program is not.
func TestWorkers(t *testing.T) {
	program := processProgram(t)
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	dir := t.TempDir()
	main, link, other, newer := dir+"/main", dir+"/link", dir+"/other", dir+"/newer"
	for _, path := range []string{main, other, newer} {
		require.NoError(t, os.WriteFile(path, content, 0o755))
	}
	require.NoError(t, os.Link(main, link))
	r, lines := start(t, "children=1 every=10 program="+strings.Repeat("0", 32), main, "family", other, link, main, newer)
	var pids []int
	for range 5 { // a fork, and one for each file
		require.True(t, lines.Scan())
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	for _, i := range []int{0, 2, 3, 4} {
		await(t, fmt.Sprintf("a snapshot of worker %d", i), func() bool {
			r.receiver.Flush()
			_, err := os.Stat(r.path("_%d.0001.heap", pids[i]))
			return err == nil
		})
	}
	assert.NoFileExists(t, r.path("_%d.0001.heap", pids[1]), "another program")
	assert.NoFileExists(t, r.path(".%d.events.jsonl", pids[1]), "another program")
}

// TestWrappersAreNotRecorded runs two programs from a shell.
func TestWrappersAreNotRecorded(t *testing.T) {
	program := processProgram(t)
	r := record(t, "", "sh", "-c", program+" image; "+program+" image").run(t)
	all, err := filepath.Glob(r.path("_*.heap"))
	require.NoError(t, err)
	assert.Len(t, all, 2, "the programs, not the shell")
}

// TestSignals ends programs by signals, as the recorder and its user do.
func TestSignals(t *testing.T) {
	program := processProgram(t)
	r := record(t, "", program, "dispositions")
	_, ended := exitOf(r.cmd.Run())
	assert.Equal(t, "signal: interrupt", ended)
	assert.Equal(t, "1111111handled\n1\n", r.stdout.String(), "see ../testdata/dispositions.h")
	assert.NotContains(t, strings.Join(r.files(t), " "), ".heap", "a program that signals itself has freed its memory before")

	for how, signals := range map[string][]syscall.Signal{
		"default": {syscall.SIGTERM}, "handler": {syscall.SIGTERM, syscall.SIGKILL}, "ignore": {syscall.SIGTERM, syscall.SIGINT},
	} {
		r, lines := start(t, "", program, "signals", how)
		require.True(t, lines.Scan())
		for _, s := range signals {
			require.NoError(t, r.cmd.Process.Signal(s))
			if how == "handler" && s == syscall.SIGTERM {
				require.True(t, lines.Scan())
				assert.Equal(t, "handled", lines.Text())
			}
		}
		require.Error(t, r.cmd.Wait())
		last := signals[len(signals)-1]
		assert.Equal(t, last, r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), how)
		events := r.events(t, r.cmd.Process.Pid)
		assert.Equal(t, []string{"exit"}, triggers(events), how)
		assert.NotZero(t, events[len(events)-1].Snapshot.Signal, how)
	}
}

// start starts a program whose input stays open until the test ends. It returns the lines that the
// program prints.
func start(t *testing.T, settings, program string, args ...string) (*recording, *bufio.Scanner) {
	t.Helper()
	r := record(t, settings, program, args...)
	r.cmd.Stdout = nil
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := r.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = r.cmd.Process.Kill(); _, _ = io.Copy(io.Discard, out); _ = r.cmd.Wait() })
	return r, bufio.NewScanner(out)
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("waited for " + what)
}

// TestEnds: the recorder looks at a process before its exit handlers run, however it ends by itself.
func TestEnds(t *testing.T) {
	program := compile(t, "gcc", "ends.c")
	for _, way := range []string{"return", "exit", "_exit", "signal", "thread", "main thread ends", "children"} {
		t.Run(way, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made")
			r := record(t, "every=20", program, made, way)
			var calls atomic.Int32
			r.receiver.Leaving(func(pid int) {
				calls.Add(1)
				assert.Equal(t, r.cmd.Process.Pid, pid)
				assert.NoDirExists(t, made)
			})
			r.runRecorded(t)
			assert.Equal(t, way != "_exit", exists(made), "exit handlers run")
			want := 1
			if way == "main thread ends" {
				want = 0 // the last thread ends in the C library
			}
			assert.EqualValues(t, want, calls.Load())
		})
	}
}

// runRecorded runs a program that waits for the end of its input, until there is a snapshot.
func (r *recording) runRecorded(t *testing.T) {
	input, err := r.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	await(t, "a snapshot", func() bool { return r.heaps() > 0 })
	require.NoError(t, input.Close())
	require.NoError(t, r.cmd.Wait())
}

// TestEndsWithSilentRecorder: a program does not wait for long for a recorder that does not look.
func TestEndsWithSilentRecorder(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	r := record(t, "every=20 patience=100", compile(t, "gcc", "ends.c"), made, "exit")
	silent := make(chan struct{})
	defer close(silent)
	r.receiver.Leaving(func(int) { <-silent })
	r.runRecorded(t)
	assert.DirExists(t, made)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestIdleProcess takes timed snapshots of a process that waits for input, and one at a signal.
func TestIdleProcess(t *testing.T) {
	program := processProgram(t)
	r, lines := start(t, "every=20", program, "idle")
	require.True(t, lines.Scan())
	await(t, "timed snapshots", func() bool { return r.heaps() >= 4 })
	assert.Equal(t, "time", triggers(r.events(t, r.cmd.Process.Pid))[2])

	r, lines = start(t, "signal=12", program, "idle")
	require.True(t, lines.Scan())
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGUSR2))
	await(t, "a snapshot at the signal", func() bool { return r.heaps() == 1 })
	assert.Equal(t, []string{"signal"}, triggers(r.events(t, r.cmd.Process.Pid)))
}

// TestSnapshotsTakeOnePercent wants a snapshot every millisecond, of 20,000 stacks. The longer a
// snapshot takes, the later is the next one: all but the last have taken at most 1 % of the time.
func TestSnapshotsTakeOnePercent(t *testing.T) {
	program := compile(t, "gcc", "paths.c", "-fno-builtin")
	r, lines := start(t, "every=1", program, "20000", "wait")
	require.True(t, lines.Scan())
	before := r.heaps()
	await(t, "timed snapshots", func() bool { return r.heaps() >= before+3 })
	events := r.events(t, r.cmd.Process.Pid)
	var cost, last float64
	for _, e := range events {
		if s := e.Snapshot; s != nil {
			require.Equal(t, "time", s.Trigger)
			elapsed := float64(s.TimeNS-events[0].StartNS) / 1e6
			require.LessOrEqual(t, cost, elapsed/100, "milliseconds")
			last = s.Cost
			cost += last
		}
	}
	require.Positive(t, last)
}

// TestTriggers takes snapshots by bytes.
func TestTriggers(t *testing.T) {
	program := compile(t, "gcc", "bias.c", "-fno-builtin")
	const total = 64 << 20
	for name, setting := range map[string]string{"allocated": "alloc=67108864", "high-water": "inuse=33554432"} {
		r := record(t, "period=4096 "+setting, program, fmt.Sprint(total)).run(t)
		got := triggers(r.events(t, r.cmd.Process.Pid))
		n := 0
		for _, trigger := range got {
			if trigger == name {
				n++
			}
		}
		assert.GreaterOrEqual(t, n, 2, "%s: %v", name, got)
		assert.LessOrEqual(t, n, 6, "%s: %v", name, got)
		assert.Equal(t, "exit", got[len(got)-1])
	}
}

// TestProgramsDoNotNotice compares what programs see with what they see without the engine.
func TestProgramsDoNotNotice(t *testing.T) {
	program := processProgram(t)
	for _, what := range []string{"descriptors", "single", "sandbox", "leave-main", "_exit", "nothing"} {
		bare := exec.Command(program, what)
		want, bareErr := bare.Output()
		r := record(t, "every=10 period=4096", program, what)
		err := r.cmd.Run()
		assert.Equal(t, bareErr == nil, err == nil, what)
		assert.Equal(t, string(want), r.stdout.String(), what)
		assert.Empty(t, r.stderr.String(), what)
		bareStatus, _ := exitOf(bareErr)
		status, _ := exitOf(err)
		assert.Equal(t, bareStatus, status, what)
		assert.NotEmpty(t, r.snapshots(t), what)
	}
}

// TestRefusals lists programs that the engine does not record. They run as without it, and the
// events file has the reason.
func TestRefusals(t *testing.T) {
	own := compile(t, "gcc", "own_malloc.c", "-fno-builtin")
	oldTable := compile(t, "gcc", "own_malloc.c", "-fno-builtin", "-Wl,--hash-style=sysv")
	sanitized := compile(t, "gcc", "process.c", "-fsanitize=address", "-ldl")
	for name, c := range map[string]struct {
		cmd  []string
		want string
	}{
		"own malloc":    {[]string{own}, "the program defines malloc itself"},
		"DT_HASH":       {[]string{oldTable}, "the program defines malloc itself"},
		"sanitizer":     {[]string{sanitized, "image"}, "sanitizer"},
		"Valgrind":      {[]string{processProgram(t), "image"}, "Valgrind"},
		"address space": {[]string{"sh", "-c", "ulimit -v 40000; exec " + processProgram(t) + " image"}, "limit of address space"},
	} {
		r := record(t, "", c.cmd[0], c.cmd[1:]...)
		if name == "Valgrind" { // a library of this name defines the function of Valgrind's
			preload(r.cmd, linkSources(t, "vgpreload.so", "-shared", "testdata/vgpreload.c"))
		}
		if name == "sanitizer" { // AddressSanitizer insists on being the first library
			r.cmd.Env = append(r.cmd.Env, "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
		}
		require.NoError(t, r.cmd.Run(), "%s: %s", name, r.stderr.String())
		assert.Empty(t, r.snapshots(t), name)
		events := r.events(t, r.cmd.Process.Pid)
		last := events[len(events)-1].Problem
		require.NotNil(t, last, name)
		assert.Equal(t, "disabled", last.Kind)
		assert.Contains(t, last.Detail, c.want)
	}
}

// TestWithoutRecorder records after the recorder has ended: the program runs as without the engine.
func TestWithoutRecorder(t *testing.T) {
	program := processProgram(t)
	r := record(t, "every=10", program, "descriptors")
	require.NoError(t, r.receiver.Close())
	require.NoError(t, r.cmd.Run())
	assert.Equal(t, "ok\n", r.stdout.String())
	assert.Empty(t, r.stderr.String())
}

// TestFileLimit records a program that may only write small files: the recorder writes them.
func TestFileLimit(t *testing.T) {
	program := processProgram(t)
	r := record(t, "", "sh", "-c", "ulimit -f 4; exec "+program+" image").run(t)
	assert.Len(t, r.snapshots(t), 1)
}
