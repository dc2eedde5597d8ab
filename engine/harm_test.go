//go:build linux

package engine

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// A program that hangs under the engine makes these tests hang until their timeout: no time is
// measured, because machines are busy.

func harmProgram(t *testing.T) string { return compile(t, "gcc", "harm.c", "-fno-builtin", "-lrt") }

// TestHandlersOfFork forks while other threads allocate, in a program that is linked with a library
// whose handlers allocate, unmap, or wait for another thread. The engine holds no lock while they run.
func TestHandlersOfFork(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libhandlers.so")
	out, err := exec.Command(testutil.Need(t, "gcc"), "-O1", "-fPIC", "-shared", "-pthread", "-o", library,
		"testdata/handlers.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	program := compile(t, "gcc", "process.c", "-fno-builtin", "-ldl", "-Wl,--no-as-needed", library)
	n := "5"
	if testutil.Full() {
		n = "500"
	}
	for _, handler := range []string{"prepare", "parent", "child"} {
		for _, work := range []string{"malloc", "unmap", "wait"} {
			for _, settings := range []string{"period=512 children=0", "period=512 every=10 children=2"} {
				r := record(t, settings, program, "forks", n)
				r.cmd.Env = append(r.cmd.Env, "HANDLER="+handler, "WORK="+work)
				r.run(t)
				assert.Equal(t, "0 bad\n", r.stdout.String(), "%s %s", handler, work)
				assert.NotEmpty(t, r.snapshots(t))
			}
		}
	}
}

// TestLockOfTheLoader forks while another thread has the loader's lock. The child does not ask for it.
func TestLockOfTheLoader(t *testing.T) {
	program := harmProgram(t)
	for _, settings := range []string{"children=0", "every=10 children=2"} {
		r := record(t, settings, program, "loader")
		r.cmd.Env = append(r.cmd.Env, "LD_BIND_NOW=1") // the C library itself needs the lock to bind a function
		r.run(t)
		assert.Equal(t, "0\n", r.stdout.String(), settings)
	}
}

// TestChildOfClone calls what ends the writer in a child for which no handler of fork ran. The writer
// of the parent is not waited for.
func TestChildOfClone(t *testing.T) {
	program := harmProgram(t)
	for _, call := range []string{"nothing", "setuid", "prctl", "chroot", "unshare"} {
		for _, settings := range []string{"every=10 children=0", "every=10 children=2"} {
			r := record(t, settings, program, "clone", call).run(t)
			assert.Equal(t, "0\n", r.stdout.String(), "the status of the child after %s", call)
		}
	}
}

// TestFailedMalloc: a size that no allocator has is not counted.
func TestFailedMalloc(t *testing.T) {
	program := harmProgram(t)
	names := functionsOf(t, program)
	for _, size := range []string{"0xC000000000000000", "0xFFFFFFFFC0000000", "0x7000000000000000", "0x4000000000000000"} {
		r := record(t, "period=4096", program, "failed", size).run(t)
		assert.EqualValues(t, 64<<20, names.bySite(r.last(t))["keep"].InuseBytes, size)
	}
}

// TestInheritedFilter runs a program under a seccomp filter that came through exec, and that kills it
// for any call but those of the program itself. The engine makes none of its own then.
func TestInheritedFilter(t *testing.T) {
	program := harmProgram(t)
	r := record(t, "every=10 filters=0", program, "filter", program, "sum").run(t)
	assert.Equal(t, "2999\n", r.stdout.String())
}

// TestContainerFilter: the filters of container engines make system calls fail with EPERM, those that
// they do not know with ENOSYS. A program that is recorded inside of the container runs, and is recorded.
func TestContainerFilter(t *testing.T) {
	program := harmProgram(t)
	denied := []uintptr{
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_CLONE3, unix.SYS_MOUNT, unix.SYS_CLOSE_RANGE,
	}
	for _, list := range [][]uintptr{denied, append(denied, unix.SYS_MEMFD_CREATE, unix.SYS_MADVISE)} {
		var numbers []string
		for _, n := range list {
			numbers = append(numbers, fmt.Sprint(n))
		}
		for _, errno := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
			r := record(t, "period=4096 every=10 filters=9", program, "deny", fmt.Sprint(int(errno)), strings.Join(numbers, ","), program, "sum").run(t)
			assert.Equal(t, "2999\n", r.stdout.String())
			assert.NotEmpty(t, r.snapshots(t))
		}
	}
}

// TestMappingsThatFail: a region stays recorded if the kernel does not unmap it.
func TestMappingsThatFail(t *testing.T) {
	program := harmProgram(t)
	r := record(t, "", program, "unmap").run(t)
	got := functionsOf(t, program).bySite(r.last(t))["map"]
	assert.EqualValues(t, 1<<20, got.InuseBytes)
	assert.EqualValues(t, 1, got.InuseObjects)
}

// TestPlantedLinks puts links under the names of the next files, as another user may who can write
// to the directory. They are not followed.
func TestPlantedLinks(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	r, lines := start(t, "signal=12", processProgram(t), "idle")
	require.True(t, lines.Scan())
	pid := r.cmd.Process.Pid
	require.NoError(t, os.Symlink(victim, r.path("_%d.0.heap.tmp", pid)))
	require.NoError(t, os.Symlink(victim, r.path(".%d.frames.jsonl", pid)))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGUSR2))
	await(t, "a snapshot", func() bool { return r.heaps() == 1 })
	require.NoError(t, os.Symlink(victim, r.path("_%d.0002.heap", pid)))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, r.cmd.Wait())
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

// TestImpostor: somebody else has a socket with the name of the recorder, and hands out memory. The
// engine does not use it.
func TestImpostor(t *testing.T) {
	r := record(t, "", processProgram(t), "image")
	last := len(r.cmd.Env) - 1
	r.cmd.Env[last] = regexp.MustCompile(`answer=\w+`).ReplaceAllString(r.cmd.Env[last], "answer=expected")
	r.run(t)
	assert.Empty(t, r.files(t))
}

// TestUnmappingWhileUnwinding takes call paths while another thread makes musl unmap memory, which the
// words on a stack point to. musl has no call frame information: outer steps follow arbitrary words.
func TestUnmappingWhileUnwinding(t *testing.T) {
	program := compile(t, "musl-gcc", "shrinking.c")
	times := 2
	if testutil.Full() {
		times = 200
	}
	for range times {
		r := record(t, "period=256 every=10", program, "600").run(t)
		assert.NotEmpty(t, r.snapshots(t))
	}
}

// TestSmallStacks: the engine uses a stack of its own, so that an allocation on the stack of a coroutine
// or a signal handler needs little more room than without the engine.
func TestSmallStacks(t *testing.T) {
	program := compile(t, "gcc", "smallstack.c")
	used := func(out []byte) int {
		n, err := strconv.Atoi(strings.TrimSpace(string(out)))
		require.NoError(t, err)
		return n
	}
	alone, err := exec.Command(program).Output()
	require.NoError(t, err)
	for _, settings := range []string{"", "every=1", "alloc=1000000"} {
		r := record(t, settings, program).run(t)
		assert.LessOrEqual(t, used(r.stdout.Bytes()), used(alone)+512, settings)
		assert.NotEmpty(t, r.snapshots(t))
	}
}

// TestMessageQueues: the engine's thread closes its copies of the program's descriptors, by one call or,
// before Linux 5.9, one by one. A program that waits for a message keeps waiting.
func TestMessageQueues(t *testing.T) {
	program := harmProgram(t)
	for _, command := range [][]string{{program, "queue"}, {program, "deny", "38", "436", program, "queue"}} {
		r := record(t, "signal=12", command[0], command[1:]...).run(t)
		if r.stdout.String() == "no queues\n" {
			t.Skip("this system has no message queues")
		}
		assert.Equal(t, "waits\n", r.stdout.String(), command)
		assert.NotEmpty(t, r.snapshots(t))
	}
}

// TestExceptions: exceptions and cancellations pass through the engine's frames, with the allocator of the
// C library and with one whose operators new do not call malloc.
func TestExceptions(t *testing.T) {
	thrower := compile(t, "g++", "exceptions.cc", "-fno-builtin", "-std=c++17", "-Wno-all")
	canceler := compile(t, "gcc", "cancel.c", "-fno-builtin", "-fexceptions")
	for _, library := range []string{"", "libjemalloc.so.2"} {
		for _, command := range [][]string{{thrower, "thrown"}, {thrower, "noexcept"}, {canceler, "deferred"}, {canceler, "asynchronous"}} {
			what := command[1] + " " + library
			r, alone := record(t, "period=512", command[0], command[1:]...), exec.Command(command[0], command[1:]...)
			if library != "" {
				preload(r.cmd, findLibrary(t, library))
				alone.Env = append(os.Environ(), "LD_PRELOAD="+findLibrary(t, library))
			}
			var stderr bytes.Buffer
			alone.Stderr = &stderr
			want, err := alone.Output()
			status, signal := exitOf(err)
			gotStatus, gotSignal := exitOf(r.cmd.Run())
			assert.Equal(t, status, gotStatus, what)
			assert.Equal(t, signal, gotSignal, what)
			assert.Equal(t, string(want), r.stdout.String(), what)
			assert.Equal(t, stderr.String(), r.stderr.String(), what)
			r.receiver.Flush()
		}
	}
}

// TestMoments runs programs that use their process in unusual ways, with the engine and without it.
func TestMoments(t *testing.T) {
	program := compile(t, "gcc", "moments.c", "-fno-builtin")
	cases := [][]string{
		{"signal", "prctl", "handled"}, {"signal", "seccomp", "handled"}, {"signal", "syscall", "handled"}, {"signal", "prctl", "default"},
		{"signal-child", "prctl", "handled"}, {"signal-child", "prctl", "default"}, {"fork"}, {"dispatch"}, {"unshare"}, {"stacks"},
		{"threads", "10"}, {"edges"}, {"limit"}, {"descriptors"}, {"no-descriptors"}, {"memory"}, {"jumps"}, {"main"},
	}
	for _, args := range cases {
		alone := exec.Command(program, args...)
		want, err := alone.Output()
		status, signal := exitOf(err)
		for _, settings := range []string{"every=10", "period=4096 every=10 children=1"} {
			what := fmt.Sprint(args, " ", settings)
			r := record(t, settings, program, args...)
			gotStatus, gotSignal := exitOf(r.cmd.Run())
			assert.Equal(t, status, gotStatus, what)
			assert.Equal(t, signal, gotSignal, what)
			assert.Equal(t, string(want), r.stdout.String(), what)
			if args[0] != "no-descriptors" { // whose snapshots need a descriptor
				assert.Positive(t, r.heaps(), what)
			}
		}
	}
}

// strangeRecorder answers each request as the function does, which may return nil.
func strangeRecorder(t *testing.T, answer func() []byte) (settings string) {
	t.Helper()
	name := fmt.Sprintf("heaplapse-test-%d", os.Getpid())
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: "@" + name, Net: "unixpacket"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if control := answer(); control != nil {
				_, _, _ = c.WriteMsgUnix([]byte{0}, control, nil)
			}
		}
	}()
	return "socket=" + name + " token=t answer=a"
}

// TestSilentRecorder: the recorder does not answer, and no thread can be created that writes the snapshots.
// The program waits once, not for each snapshot that is due.
func TestSilentRecorder(t *testing.T) {
	harm, program := harmProgram(t), compile(t, "gcc", "moments.c", "-fno-builtin")
	settings := strangeRecorder(t, func() []byte { return nil })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, harm, "deny", fmt.Sprint(int(unix.EAGAIN)), fmt.Sprint(unix.SYS_CLONE), program, "busy")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+engineFile(t),
		Variable+"=period=4096 every=0 alloc=1000000 children=0 patience=3000 main=0000000 "+settings)
	require.NoError(t, cmd.Run())
}

// TestManyDescriptors: somebody who has taken the name of the recorder answers with two descriptors. The program
// keeps none.
func TestManyDescriptors(t *testing.T) {
	harm, program := harmProgram(t), compile(t, "gcc", "moments.c", "-fno-builtin")
	settings := strangeRecorder(t, func() []byte { return unix.UnixRights(0, 0) })
	want, err := exec.Command(program, "busy").Output()
	require.NoError(t, err)
	cmd := exec.Command(harm, "deny", fmt.Sprint(int(unix.EAGAIN)), fmt.Sprint(unix.SYS_CLONE), program, "busy")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+engineFile(t),
		Variable+"=period=4096 every=0 alloc=1000000 children=0 patience=3000 main=0000000 "+settings)
	got, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}
