//go:build linux && amd64

package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// host is testdata/host.c while it runs.
type host struct {
	*exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
	text   string // what it wrote before it was ready
}

// programs is the directory of the program, which is built once. TestMain sets it.
var programs string

var compile = sync.OnceValues(func() (program string, err error) {
	program = filepath.Join(programs, "host")
	out, err := exec.Command("gcc", "-O1", "-g", "-Wall", "-pthread", "-rdynamic", "-o", program,
		"testdata/host.c").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

func start(t *testing.T, args ...string) *host {
	t.Helper()
	testutil.Need(t, "gcc")
	program, err := compile()
	require.NoError(t, err)
	h := &host{Cmd: exec.Command(program, args...)}
	h.Cmd.Stderr = &h.stderr
	h.Cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	out, err := h.StdoutPipe()
	require.NoError(t, err)
	h.out = bufio.NewReader(out)
	require.NoError(t, h.Start())
	t.Cleanup(func() {
		_ = unix.Kill(-h.Process.Pid, unix.SIGKILL)
		_, _ = h.Process.Wait()
	})
	for {
		line, err := h.out.ReadString('\n')
		require.NoError(t, err, "%s", &h.stderr)
		if line == "ready\n" {
			return h
		}
		h.text += line
	}
}

// end lets the program end. It must have found nothing wrong.
func (h *host) end(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Process.Signal(unix.SIGTERM))
	timer := time.AfterFunc(time.Minute, func() { _ = h.Process.Kill() })
	defer timer.Stop()
	rest, err := io.ReadAll(h.out)
	require.NoError(t, err)
	require.NoError(t, h.Wait(), "%s", &h.stderr)
	require.Equal(t, "done\n", string(rest))
}

func take(t *testing.T, h *host) *Snapshot {
	t.Helper()
	s, err := Take(h.Process.Pid, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// children returns the numbers and states of the children of a process.
func children(t *testing.T, pid int) (list []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		if f := target.StatFields("/proc/" + e.Name() + "/stat"); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			list = append(list, e.Name()+" "+f[0])
		}
	}
	return list
}

func times() int {
	if testutil.Full() {
		return 500
	}
	return 15
}

// TestProgramsSeeNothing takes snapshots of programs that check what a snapshot might disturb.
func TestProgramsSeeNothing(t *testing.T) {
	for _, kind := range []string{"", "threads", "waits", "children", "childless", "ignore", "files", "signals"} {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind)
			var stopped []time.Duration
			for range times() {
				s, err := Take(h.Process.Pid, Options{})
				require.NoError(t, err)
				stopped = append(stopped, s.Stopped)
				time.Sleep(2 * time.Millisecond)
				require.NoError(t, s.Close())
			}
			assert.Empty(t, findCopies(h.Process.Pid, "Z"))
			h.end(t)
			slices.Sort(stopped)
			t.Logf("stopped %v to %v", stopped[0], stopped[len(stopped)-1])
		})
	}
}

// TestFrozen reads two words that the program counts up together.
func TestFrozen(t *testing.T) {
	h := start(t, "threads")
	p, err := target.Open(h.Process.Pid)
	require.NoError(t, err)
	first, second := p.Program().Symbol("first_word").Start, p.Program().Symbol("second_word").Start
	require.NotZero(t, first)
	require.NotZero(t, second)
	s := take(t, h)
	read := func(m target.Memory, address uint64) uint64 {
		v, err := m.Uint64(address)
		require.NoError(t, err)
		return v
	}
	a, b := read(s.Memory, first), read(s.Memory, second)
	assert.LessOrEqual(t, a-b, uint64(1))
	require.Eventually(t, func() bool { return read(p.Memory, first) > a+1000 }, time.Minute, time.Millisecond)
	assert.Equal(t, a, read(s.Memory, first))
	assert.Equal(t, b, read(s.Memory, second))
	require.GreaterOrEqual(t, len(s.Threads), 5)
	assert.Equal(t, "host", s.Threads[0].Name)
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Memory.PID))
	require.NoError(t, err)
	assert.Empty(t, open)
	for _, th := range s.Threads {
		m, ok := target.Containing(s.Mappings, th.SP)
		assert.True(t, ok && strings.HasPrefix(m.Permissions, "rw"), "%#x", th.SP)
		assert.Equal(t, th.TLS, read(s.Memory, th.TLS), "the thread pointer points to itself")
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	assert.Empty(t, children(t, h.Process.Pid))
	h.end(t)
}

// startAsleep runs the program until its main thread waits.
func startAsleep(t *testing.T, kind string) *host {
	t.Helper()
	h := start(t, kind)
	require.Eventually(t, func() bool {
		th, _ := target.ReadThread(h.Process.Pid, h.Process.Pid)
		return th.Call == unix.SYS_RECVFROM
	}, time.Minute, time.Millisecond)
	return h
}

// TestAsleep: a thread that waits in a call which a stop would end early is not stopped. Its stack and its thread-local
// variables are known.
func TestAsleep(t *testing.T) {
	h := startAsleep(t, "asleep")
	s := take(t, h)
	i := slices.IndexFunc(s.Threads, func(th Thread) bool { return th.ID == h.Process.Pid })
	require.GreaterOrEqual(t, i, 0)
	th := s.Threads[i]
	assert.True(t, th.Asleep)
	pointer, err := s.Memory.Uint64(th.TLS)
	require.NoError(t, err)
	assert.Equal(t, th.TLS, pointer, "the thread pointer points to itself")
	p, err := target.Open(h.Process.Pid)
	require.NoError(t, err)
	frames := s.Stack(i, p.Modules)
	require.Greater(t, len(frames), 1)
	assert.Same(t, p.Libc, frames[0].Module)
	assert.Same(t, p.Program(), frames[1].Module)
	require.NoError(t, s.Close())
	h.end(t)
}

// TestAsleepAlone: such a thread cannot make the copy, either.
func TestAsleepAlone(t *testing.T) {
	h := startAsleep(t, "asleep alone")
	_, err := Take(h.Process.Pid, Options{})
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, TryAgain, refusal.Remedy)
	assert.Contains(t, refusal.Reason, "waits in recv, which a stop would end early")
	h.end(t)
}

// TestRegisters finds words that only registers have.
func TestRegisters(t *testing.T) {
	h := start(t, "registers")
	require.Eventually(t, func() bool {
		s := take(t, h)
		defer s.Close()
		r := s.Threads[0].Registers
		return slices.Contains(r, 0x1122334455667788) && slices.Contains(r, 0x99aabbccddeeff00)
	}, time.Minute, time.Millisecond)
	h.end(t)
}

// TestMissing finds memory that the kernel does not copy.
func TestMissing(t *testing.T) {
	h := start(t, "without")
	at, err := strconv.ParseUint(strings.TrimSpace(h.text), 0, 64)
	require.NoError(t, err)
	s := take(t, h)
	assert.Equal(t, []target.Range{{Start: at, End: at + 1<<20}}, s.Missing)
	require.NoError(t, s.Close())
	h.end(t)
}

// TestMissingRanges compares mappings.
func TestMissingRanges(t *testing.T) {
	m := func(start, end uint64, permissions string) target.Mapping {
		return target.Mapping{Start: start, End: end, Permissions: permissions}
	}
	process := []target.Mapping{
		m(10, 20, "rw-p"), m(20, 30, "r--p"), m(40, 50, "rw-s"), m(60, 70, "---p"), m(80, 90, "rw-p"),
	}
	assert.Empty(t, missing(process, process))
	assert.Equal(t, []target.Range{{Start: 10, End: 20}, {Start: 20, End: 30}, {Start: 80, End: 90}},
		missing(process, nil))
	child := []target.Mapping{m(10, 12, "rw-p"), m(15, 30, "rw-p"), m(80, 85, "rw-p")}
	assert.Equal(t, []target.Range{{Start: 12, End: 15}, {Start: 85, End: 90}}, missing(process, child))
}

// TestRefuses names the reason, and leaves the program alone.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		args  []string
		setup func(t *testing.T, h *host)
		text  string
	}{
		{args: []string{"vfork"}, text: "cannot be stopped: it waits for a device, or for a program that it starts",
			setup: func(t *testing.T, h *host) {
				pid := h.Process.Pid
				require.Eventually(t, func() bool { return len(children(t, pid)) == 1 && threadState(pid, pid) == 'D' },
					time.Minute, time.Millisecond) // it is ready before it calls vfork
			}},
		{args: []string{"leaderless"}, text: "or its main thread has ended", setup: func(t *testing.T, h *host) {
			require.Eventually(t, func() bool { return threadState(h.Process.Pid, h.Process.Pid) == 0 },
				time.Minute, time.Millisecond)
		}},
		{args: []string{"unshare"}, text: "are in another PID namespace", setup: root},
		{args: []string{"user"}, text: "may create no process"},
		{args: filter(unix.SYS_CLONE, 0x80000000), text: "does not permit clone", setup: root},
		{args: filter(unix.SYS_CLONE, 0x00030000), text: "does not permit clone", setup: root},
		{args: filter(unix.SYS_CLONE, 0x00050001), text: "does not permit clone", setup: root},
		{args: filter(unix.SYS_WAIT4, 0x80000000), text: "does not permit wait4", setup: root},
		{args: []string{"stopped"}, text: "is stopped: let it continue first (kill -CONT", setup: func(t *testing.T,
			h *host) {
			require.NoError(t, h.Process.Signal(unix.SIGSTOP))
			require.Eventually(t, func() bool { return threadState(h.Process.Pid, h.Process.Pid) == 'T' },
				time.Minute, time.Millisecond)
			t.Cleanup(func() { _ = h.Process.Signal(unix.SIGCONT) })
		}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if c.args[0] == "unshare" || c.args[0] == "user" {
				testutil.Superuser(t)
			}
			h := start(t, c.args...)
			if c.setup != nil {
				c.setup(t, h)
			}
			_, err := Take(h.Process.Pid, Options{})
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			assert.Contains(t, err.Error(), c.text)
			if c.args[0] == "vfork" || c.args[0] == "leaderless" {
				return // it does not end by itself
			}
			assert.Empty(t, children(t, h.Process.Pid))
			_ = h.Process.Signal(unix.SIGCONT)
			h.end(t)
		})
	}
}

// root skips a test that reads seccomp filters, or changes users or namespaces.
func root(t *testing.T, _ *host) { testutil.Superuser(t) }

func filter(call, action int64) []string {
	return []string{"filter", strconv.FormatInt(call, 10), strconv.FormatInt(action, 10)}
}

// TestPermittedFilter takes a snapshot under a filter that permits what is needed.
func TestPermittedFilter(t *testing.T) {
	testutil.Superuser(t)
	h := start(t, filter(unix.SYS_REBOOT, 0x80000000)...)
	s := take(t, h)
	require.NoError(t, s.Close())
	assert.Empty(t, children(t, h.Process.Pid))
	h.end(t)
}

// TestRefusesTraced takes a snapshot while another process traces the program.
func TestRefusesTraced(t *testing.T) {
	h := start(t, "")
	w := startWorker(time.Hour, func() {})
	require.NoError(t, w.do(func() error { return ptrace(unix.PTRACE_SEIZE, h.Process.Pid, 0, 0) }))
	_, err := Take(h.Process.Pid, Options{})
	assert.ErrorContains(t, err, "is traced by process")
	w.end()
	h.end(t)
}

func TestRefusesOthers(t *testing.T) {
	_, err := Take(os.Getpid(), Options{})
	assert.ErrorContains(t, err, "is heaplapse itself")
	_, err = Take(0, Options{})
	assert.ErrorContains(t, err, "there is no process 0")
	_, err = Take(1<<22+1, Options{})
	assert.ErrorContains(t, err, "there is no process")
}

func TestExplains(t *testing.T) {
	assert.ErrorContains(t, explain(1, unix.EAGAIN), "pids.max")
	assert.ErrorContains(t, explain(1, unix.ENOMEM), "vm.overcommit_memory")
	assert.ErrorContains(t, explain(1, unix.EINVAL), "process 1 cannot be forked: invalid argument")
}

// TestGroupLimit takes a snapshot in a control group that permits one process.
func TestGroupLimit(t *testing.T) {
	testutil.Superuser(t)
	h := start(t, "")
	dir := ""
	for _, mount := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		d := fmt.Sprintf("%s/heaplapse-test-%d", mount, os.Getpid())
		if os.Mkdir(d, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { assert.NoError(t, os.Remove(d)) })
		if os.WriteFile(d+"/pids.max", []byte("1"), 0) == nil {
			dir = d
			break
		}
	}
	if dir == "" {
		t.Skip("this machine permits no control group with a limit of processes")
	}
	require.NoError(t, os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(h.Process.Pid)), 0))
	_, err := Take(h.Process.Pid, Options{})
	assert.ErrorContains(t, err, "pids.max")
	h.end(t)
}

// TestScarceMemory ends the copy when memory runs short.
func TestScarceMemory(t *testing.T) {
	h := start(t, "")
	s := take(t, h)
	require.NoError(t, s.Err())
	_ = s.worker.do(func() error { s.watch(100, 100); return nil })
	require.NoError(t, s.Err())
	_ = s.worker.do(func() error { s.watch(49, 100); return nil })
	require.ErrorIs(t, s.Err(), ErrMemory)
	assert.Error(t, s.Memory.Read(s.Mappings[0].Start, make([]byte, 1)))
	require.NoError(t, s.Close())
	assert.Empty(t, children(t, h.Process.Pid))
	h.end(t)
}

// TestCopyKilled kills the copy, as the kernel does when memory runs out.
func TestCopyKilled(t *testing.T) {
	h := start(t, "children")
	s := take(t, h)
	require.NoError(t, unix.Kill(s.Memory.PID, unix.SIGKILL))
	require.Eventually(t, func() bool { return s.Err() != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, s.Err(), ErrKilled)
	require.NoError(t, s.Close())
	assert.Empty(t, findCopies(h.Process.Pid, "Z"))
	h.end(t)
}

// TestGroupSignal sends a signal to the process group, which has the copy, too. Only the program ends.
func TestGroupSignal(t *testing.T) {
	h := start(t, "")
	s := take(t, h)
	require.NoError(t, unix.Kill(-h.Process.Pid, unix.SIGTERM))
	require.NoError(t, h.Wait())
	assert.NoError(t, s.Memory.Read(s.Threads[0].SP, make([]byte, 8)))
	require.NoError(t, s.Err())
	require.NoError(t, s.Close())
}

// TestExec lets the program execute another one while there is a copy of the old one.
func TestExec(t *testing.T) {
	h := start(t, "exec")
	s := take(t, h)
	require.NoError(t, h.Process.Signal(unix.SIGUSR1))
	line, err := h.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.NoError(t, s.Close())
	assert.Empty(t, children(t, h.Process.Pid))
	again := take(t, h)
	require.NoError(t, again.Close())
	h.end(t)
}

// TestTwoAtOnce takes snapshots of a program by two heaplapses. One may have to give way.
func TestTwoAtOnce(t *testing.T) {
	h := start(t, "threads")
	taken := make(chan int)
	for range 2 {
		go func() {
			n := 0
			for range times() {
				s, err := Take(h.Process.Pid, Options{})
				var refusal *Refusal
				if err == nil {
					n++
					err = s.Close()
				}
				if err != nil && !errors.As(err, &refusal) && !errors.Is(err, ErrZombie) {
					t.Error(err)
				}
			}
			taken <- n
		}()
	}
	assert.Positive(t, <-taken+<-taken)
	require.Eventually(t, func() bool {
		s, err := Take(h.Process.Pid, Options{})
		return err == nil && assert.NoError(t, s.Close())
	}, time.Minute, time.Millisecond)
	assert.Empty(t, children(t, h.Process.Pid))
	h.end(t)
}

// TestManyThreads stops many threads.
func TestManyThreads(t *testing.T) {
	h := start(t, "many")
	s := take(t, h)
	assert.Len(t, s.Threads, 201)
	t.Logf("stopped for %v", s.Stopped)
	require.NoError(t, s.Close())
	h.end(t)
}

// TestProcessEnds takes a snapshot of a process that is killed meanwhile. The copy lives on.
func TestProcessEnds(t *testing.T) {
	h := start(t, "threads")
	s := take(t, h)
	require.NoError(t, h.Process.Kill())
	_, err := io.ReadAll(h.out)
	require.NoError(t, err, "its files are closed")
	_, _ = h.Process.Wait()
	assert.NoError(t, s.Memory.Read(s.Threads[0].SP, make([]byte, 8)))
	require.NoError(t, s.Close())
	if f := target.StatFields(fmt.Sprintf("/proc/%d/stat", s.Memory.PID)); len(f) > 0 {
		assert.Equal(t, "Z", f[0], "init waits for it at its leisure")
	}
}

// TestProcessEndsOnOldKernel ends the copy with the process, if it shares the open files.
func TestProcessEndsOnOldKernel(t *testing.T) {
	h := start(t, "")
	s := take(t, h)
	_ = s.worker.do(func() error { s.shared = true; return nil })
	require.NoError(t, h.Process.Kill())
	_, _ = h.Process.Wait()
	require.Eventually(t, func() bool { return s.Err() != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, s.Err(), ErrEnded)
	require.NoError(t, s.Close())
}

// TestNotTied lets the child run, as if heaplapse had died before it tied the child to itself. It must
// end at once, and a later snapshot removes the zombie.
func TestNotTied(t *testing.T) {
	h := start(t, "children")
	s := take(t, h)
	_ = s.worker.do(func() error {
		require.NoError(t, setOptions(s.Memory.PID, 0))
		require.NoError(t, ptrace(unix.PTRACE_DETACH, s.Memory.PID, 0, 0))
		s.look.ended = true
		return nil
	})
	stat := fmt.Sprintf("/proc/%d/stat", s.Memory.PID)
	require.Eventually(t, func() bool { return target.StatFields(stat)[0] == "Z" }, time.Minute, time.Millisecond)
	assert.Equal(t, strconv.Itoa(exitSignal), target.StatFields(stat)[38-3])
	code, err := strconv.Atoi(target.StatFields(stat)[52-3])
	require.NoError(t, err)
	assert.Zero(t, code&0x7f, "it was not killed by a signal")
	next := take(t, h)
	assert.Empty(t, target.StatFields(stat), "the zombie is gone")
	require.NoError(t, next.Close())
	require.NoError(t, s.Close())
	h.end(t)
}

// TestVectorLayout compares the first vector register with what the standard format of XSAVE says.
func TestVectorLayout(t *testing.T) {
	h := start(t, "registers")
	w := startWorker(time.Hour, func() {})
	defer w.end()
	require.Eventually(t, func() bool {
		found := false
		_ = w.do(func() error {
			l := &look{pid: h.Process.Pid}
			require.NoError(t, l.prepare())
			require.NoError(t, l.stopAll())
			b, err := extendedState(h.Process.Pid)
			require.NoError(t, err)
			const xmm9 = 160 + 9*16
			found = binary.LittleEndian.Uint64(b[xmm9:]) == 0x99aabbccddeeff00
			return l.release()
		})
		return found
	}, time.Minute, time.Millisecond)
	h.end(t)
}

// TestReadingCopiesNothing reads a copy, which goes on to share its pages with the process. What the process cannot
// read, heaplapse cannot read either.
func TestReadingCopiesNothing(t *testing.T) {
	const filled = 32 << 20
	h := start(t, "memory")
	address, err := strconv.ParseUint(strings.TrimSpace(h.text), 0, 64)
	require.NoError(t, err)
	s := take(t, h)
	before := private(t, s.Memory.PID)
	b := make([]byte, 4096)
	for at := address + 4096; at < address+filled; at += 4096 {
		require.NoError(t, s.Memory.Read(at, b))
		require.Equal(t, byte(1), b[4095])
	}
	assert.Less(t, private(t, s.Memory.PID)-before, int64(filled/2))
	require.ErrorIs(t, s.Memory.Read(address, b), unix.EFAULT)
	require.ErrorIs(t, s.Memory.Read(address+2048, b), unix.EFAULT, "a part of it")
	require.NoError(t, s.Close())
	require.Error(t, s.Memory.Read(address+4096, b))
	h.end(t)
}

// private returns how many bytes of memory a process shares with no other.
func private(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	require.NoError(t, err)
	return kilobytes(text, "Private_Dirty:") + kilobytes(text, "Private_Clean:")
}
