//go:build linux && amd64

package tracer

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
)

// Thread is a thread of another process that is stopped.
type Thread struct {
	ID     int
	Memory target.Memory
	// Regs has the registers as they were when the thread was stopped.
	Regs unix.PtraceRegs

	child    bool   // it is the main thread of a child of this process
	vectors  []byte // the extended state: XMM, AVX and others
	mask     uint64 // the signal mask
	stopped  time.Time
	began    time.Time         // when it began to wait in its system call, if that was interrupted
	borrowed bool              // it has run other code than its own, and must be restored
	guard    uint64            // address of the frame on its own stack, or 0
	onStep   func(name string) // for tests
}

// Options are those of Stop.
type Options struct {
	// Step, if it is not nil, is called before each request. It is for tests.
	Step func(name string)
	// Sleeps has been read before, so that threads that wait with a limit can be stopped.
	Sleeps *Sleeps
}

const stopLimit = 2 * time.Second

// Stop stops a thread. The caller must call Release. It returns [Waiting] if the program would notice.
func Stop(memory target.Memory, id int, o Options) (*Thread, error) {
	if o.Sleeps == nil {
		o.Sleeps = &Sleeps{pid: memory.PID}
	}
	if w, refused := o.Sleeps.mustNotStop(id); refused {
		return nil, &Waiting{w}
	}
	child := id == memory.PID && target.Status(id, "PPid") == strconv.Itoa(os.Getpid())
	t := &Thread{ID: id, Memory: memory, onStep: o.Step, child: child}
	t.step("seize")
	if err := ptrace(unix.PTRACE_SEIZE, id, 0, unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return nil, os.NewSyscallError("ptrace", err)
	}
	err := t.interrupt(stopLimit)
	if err == nil {
		t.stopped = time.Now()
		err = unix.PtraceGetRegs(id, &t.Regs)
	}
	if err == nil && t.wasInterrupted() {
		t.began = o.Sleeps.since(id, target.Switches(id))
	}
	if err == nil {
		err = t.rewind()
	}
	if err != nil {
		t.abandon()
		return nil, err
	}
	return t, nil
}

func (t *Thread) step(name string) {
	if t.onStep != nil {
		t.onStep(name)
	}
}

// abandon ends tracing a thread in an unknown state.
func (t *Thread) abandon() {
	if ptrace(unix.PTRACE_DETACH, t.ID, 0, 0) == nil {
		return
	}
	_, _ = t.wait(stopLimit)
	_ = ptrace(unix.PTRACE_DETACH, t.ID, 0, 0)
}

// Call returns the number of the system call in which the thread was stopped, or -1.
func (t *Thread) Call() int64 { return int64(t.Regs.Orig_rax) }

// Registers returns the registers by their DWARF numbers.
func (t *Thread) Registers() unwind.Registers {
	r := &t.Regs
	return unwind.Registers{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rip}
}

// InRestartableSequence reports whether the thread is in a critical section of rseq(2), which ends
// if the thread runs anything else.
func (t *Thread) InRestartableSequence() bool {
	var c struct {
		address         uint64
		size, signature uint32
		flags, unused   uint32
	}
	const criticalSection = 8 // offset in struct rseq
	if ptrace(getRseq, t.ID, unsafe.Sizeof(c), uintptr(unsafe.Pointer(&c))) != nil || c.address == 0 {
		return false
	}
	section, err := t.Memory.Uint64(c.address + criticalSection)
	return err != nil || section != 0
}

// Filter returns seccomp filter number i of the thread, from the newest on, or ok false if there is
// no such filter.
func (t *Thread) Filter(i int) (program []byte, ok bool, err error) {
	const instruction = 8
	n, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getFilter, uintptr(t.ID), uintptr(i), 0, 0, 0)
	if e == unix.ENOENT {
		return nil, false, nil
	}
	if e != 0 {
		return nil, false, os.NewSyscallError("ptrace", e)
	}
	program = make([]byte, instruction*max(int(n), 1))
	_, _, e = unix.RawSyscall6(unix.SYS_PTRACE, getFilter, uintptr(t.ID), uintptr(i),
		uintptr(unsafe.Pointer(&program[0])), 0, 0)
	if e != 0 {
		return nil, false, os.NewSyscallError("ptrace", e)
	}
	return program, true, nil
}

const syscallSize = 2 // bytes of the instruction

// Results of a system call that the kernel makes again when the thread runs on (include/linux/errno.h). With
// restartNoHand, it returns EINTR if it runs a handler of a signal before.
const restartSys, restartNoIntr, restartNoHand, restartBlock = -512, -513, -514, -516

// interruptedRegs returns the registers with which the thread goes on for the rest of its time, if the stop has made
// its system call return EINTR.
func (t *Thread) interruptedRegs() unix.PtraceRegs {
	r := shorten(t.Regs, time.Since(t.began))
	result := int64(restartNoHand)
	r.Rax = uint64(result)
	return r
}

// again returns the registers with which the thread makes its system call again by itself, for the rest of its time.
func (t *Thread) again() unix.PtraceRegs {
	r := t.Regs
	if t.wasInterrupted() {
		r = shorten(r, time.Since(t.began))
	}
	r.Rax, r.Rip, r.Orig_rax = r.Orig_rax, r.Rip-syscallSize, ^uint64(0)
	return r
}

// wasInterrupted reports whether the stop has made a system call return EINTR.
func (t *Thread) wasInterrupted() bool {
	return int64(t.Regs.Rax) == -int64(unix.EINTR) && isRepeated(t.Call())
}

// rewind lets the thread go on if the tracer dies while the thread is stopped.
func (t *Thread) rewind() error {
	if !t.wasInterrupted() {
		return nil
	}
	regs := t.interruptedRegs()
	return os.NewSyscallError("ptrace", unix.PtraceSetRegs(t.ID, &regs))
}

// Release gives the thread back as it was, and returns for how long it was stopped.
func (t *Thread) Release() (time.Duration, error) {
	regs, interrupted := t.Regs, t.wasInterrupted()
	if interrupted {
		regs = t.interruptedRegs()
	}
	if t.borrowed {
		if err := t.restore(); err != nil && !errors.Is(err, unix.ESRCH) {
			t.abandon() // it puts itself back
			return time.Since(t.stopped), os.NewSyscallError("ptrace", err)
		}
	}
	if interrupted || t.borrowed {
		t.step("restore registers")
		if err := unix.PtraceSetRegs(t.ID, &regs); err != nil && !errors.Is(err, unix.ESRCH) {
			t.abandon()
			return time.Since(t.stopped), os.NewSyscallError("ptrace", err)
		}
	}
	t.step("detach")
	if err := ptrace(unix.PTRACE_DETACH, t.ID, 0, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return time.Since(t.stopped), os.NewSyscallError("ptrace", err)
	}
	return time.Since(t.stopped), nil
}
