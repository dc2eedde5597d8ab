//go:build linux && amd64

package snapshot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

const (
	// exitSignal is what the kernel would send to the process when the child ends. Signals end at
	// 64: nothing is sent. It shows in /proc/PID/stat, and tells the child from others.
	exitSignal = proc.CopySignal
	cloneFlags = unix.CLONE_FILES | exitSignal
)

// look is the work on a process while its threads are stopped.
type look struct {
	Options

	pid     int
	process *target.Process
	returns tracer.Returns
	exit    uint64 // the address of _exit
	zombies []int  // children that have ended, as the process sees them
	threads []*tracer.Thread
	sleeps  *tracer.Sleeps
	asleep  []target.Thread // those that are not stopped: see [Thread.Asleep]
	// registers has those of the threads by their DWARF numbers, when they were stopped first.
	registers []unwind.Registers

	child int  // its number, or 0
	ended bool // the child has ended, and its number may be that of another process
}

// step is called before each request of package tracer.
func (l *look) step(id int, name string) {
	if name == "syscall" && l.child == 0 {
		l.child = newChild(id)
	}
	l.Options.step(name)
}

func (o Options) step(name string) {
	if o.Step != nil {
		o.Step(name)
	}
}

// prepare reads what is needed of the process while it runs.
func (l *look) prepare() (err error) {
	if l.process, err = target.Open(l.pid); err != nil {
		return err
	}
	if l.process.Libc == nil {
		return refuse("", "process %d does not use a C library as a shared library", l.pid)
	}
	l.zombies = findCopies(l.pid, "Z")
	l.returns, err = tracer.FindReturns(l.process.Libc, l.process.Memory)
	if l.exit = l.process.Libc.Symbol("_exit").Start; err == nil && l.exit == 0 {
		err = errors.New("the C library has no function _exit")
	}
	return err
}

// borrow calls a function with a thread that can make system calls. It tries one thread after the
// other until one is fit.
func (l *look) borrow(use func(*tracer.Thread) error) error {
	var last error
	for _, t := range l.threads {
		if t.InRestartableSequence() {
			last = refuse(TryAgain, "thread %d of process %d is in a restartable sequence", t.ID, l.pid)
			continue
		}
		if last = checkFilters(t); last != nil {
			continue
		}
		if last = t.Borrow(l.returns, l.process.Mappings); last == nil {
			return use(t)
		}
	}
	switch {
	case last == nil && len(l.asleep) > 0:
		t := l.asleep[0]
		last = refuse(TryAgain, "process %d cannot be stopped: thread %d %v", l.pid, t.ID, &tracer.Waiting{Thread: t})
	case last == nil:
		last = refuse("", "process %d has ended", l.pid)
	}
	return last
}

// fork lets a stopped thread create the child, which stays stopped.
func (l *look) fork(t *tracer.Thread) error {
	if err := l.removeZombies(t); err != nil {
		return err
	}
	stack, err := l.writeStack(t)
	if err != nil {
		return err
	}
	const own = unix.PTRACE_O_TRACESYSGOOD // as package tracer has set it
	l.Options.step("trace clone")
	if err := setOptions(t.ID, own|unix.PTRACE_O_TRACECLONE); err != nil {
		return err
	}
	result, err := t.Syscall(l.returns, unix.SYS_CLONE, cloneFlags, stack)
	switch {
	case err != nil:
		return fmt.Errorf("clone: %w", err)
	case result < 0:
		return explain(l.pid, unix.Errno(-result))
	case l.child == 0:
		return errors.New("clone: the kernel has not reported the child")
	}
	return l.adopt()
}

// adopt makes the child die with heaplapse, and before others if memory runs short.
func (l *look) adopt() error {
	const limit = 2 * time.Second
	l.Options.step("wait for child")
	ws, err := waitFor(l.child, limit)
	if err == nil && !ws.Stopped() {
		err = errors.New("the child has ended")
	}
	if err != nil {
		return err
	}
	l.Options.step("tie child")
	if err := setOptions(l.child, unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return err
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", l.child), []byte("1000"), 0)
	const highest = -20
	_ = unix.Setpriority(unix.PRIO_PROCESS, l.child, highest) // the process is stopped while the child closes its files
	return nil
}

// closeFiles makes the child leave the table of open files, with an empty one of its own. It reports
// whether the kernel can do that (Linux 5.9). The kernel copies a part of the table for a moment, so the
// process must be stopped. Some file systems write what the file has when it is closed: that is not
// waited for.
func (l *look) closeFiles() (bool, error) {
	const limit, unshare, stop = time.Second, 2, unix.SIGTRAP | 0x80
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(l.child, &regs); err != nil {
		return false, os.NewSyscallError("ptrace", err)
	}
	regs.Rip, regs.Rax, regs.Orig_rax = l.returns.Syscall, unix.SYS_CLOSE_RANGE, ^uint64(0)
	regs.Rdi, regs.Rsi, regs.Rdx = 0, 1<<32-1, unshare
	if err := unix.PtraceSetRegs(l.child, &regs); err != nil {
		return false, os.NewSyscallError("ptrace", err)
	}
	for range 2 { // to the entry and to the exit
		l.Options.step("close files")
		if err := ptrace(unix.PTRACE_SYSCALL, l.child, 0, 0); err != nil {
			return false, err
		}
		if ws, err := waitFor(l.child, limit); err != nil || ws.StopSignal() != stop {
			return false, errors.Join(fmt.Errorf("close_range: status %#x of the child", ws), err)
		}
	}
	err := unix.PtraceGetRegs(l.child, &regs)
	return regs.Rax == 0, os.NewSyscallError("ptrace", err)
}

// writeStack writes the stack of the child, which calls _exit if it ever runs, and returns its address. It
// lies below the frame that package tracer has written:
//
//	struct ucontext at the highest multiple of 64 below the red zone with room for the extended
//	state and 4 bytes, minus 512; the address of rt_sigreturn before it
func (l *look) writeStack(t *tracer.Thread) (uint64, error) {
	const redZone, contextSize, room = 128, 0x200, 256
	state, err := extendedState(t.ID)
	if err != nil {
		return 0, err
	}
	frame := (t.Regs.Rsp-redZone-uint64(len(state))-4)&^63 - contextSize - 8
	if w, err := t.Memory.Uint64(frame); err != nil || w != l.returns.Sigreturn {
		return 0, fmt.Errorf("no frame of the tracer at %#x", frame)
	}
	stack := frame - room
	m, ok := target.Containing(l.process.Mappings, t.Regs.Rsp)
	if !ok || stack < m.Start {
		return 0, errors.New("the thread's stack has no room")
	}
	l.Options.step("write stack")
	return stack, t.Memory.PutUint64(stack, l.exit)
}

// kill ends the child and waits for it. Its zombie stays.
func (l *look) kill() error {
	const limit = 10 * time.Second
	if l.child == 0 || l.ended {
		return nil
	}
	l.Options.step("kill")
	if err := unix.Kill(l.child, unix.SIGKILL); err != nil {
		return os.NewSyscallError("kill", err)
	}
	for {
		ws, err := waitFor(l.child, limit)
		if err != nil {
			return fmt.Errorf("end the copy of process %d: %w", l.pid, err)
		}
		if l.ended = ws.Signaled() || ws.Exited(); l.ended {
			return nil
		}
	}
}

// wasKilled reports whether something else has ended the child: the kernel when memory ran out, or a signal
// for its process group.
func (l *look) wasKilled() bool {
	var ws unix.WaitStatus
	n, err := unix.Wait4(l.child, &ws, unix.WALL|unix.WNOHANG, nil)
	if err == nil && n == l.child {
		l.ended = ws.Signaled() || ws.Exited()
	}
	return l.ended
}
