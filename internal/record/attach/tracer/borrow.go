//go:build linux && amd64

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Returns has the addresses of instructions of the C library by which the thread returns to its own
// code.
type Returns struct {
	// Sigreturn makes the system call rt_sigreturn: mov $15, %rax; syscall.
	Sigreturn uint64
	// Syscall makes a system call and returns: syscall; ret.
	Syscall uint64
}

// FindReturns searches the code of the C library.
func FindReturns(libc *target.Module, memory target.Memory) (r Returns, err error) {
	sigreturn := "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
	syscall := "\x0f\x05\xc3"
	const maxCode = 16 << 20
	for _, c := range libc.Code {
		b := make([]byte, min(c.End-c.Start, maxCode))
		if err := memory.Read(c.Start, b); err != nil {
			return r, err
		}
		if i := strings.Index(string(b), sigreturn); i >= 0 {
			r.Sigreturn = c.Start + uint64(i)
		}
		if i := strings.Index(string(b), syscall); i >= 0 {
			r.Syscall = c.Start + uint64(i)
		}
	}
	if r.Sigreturn == 0 || r.Syscall == 0 {
		return r, errors.New("the C library has no code that returns from a signal handler")
	}
	return r, nil
}

// save reads what Release does not need, but Borrow does.
func (t *Thread) save() error {
	const largest = 16 << 10
	t.vectors = make([]byte, largest)
	iov := unix.Iovec{Base: &t.vectors[0], Len: uint64(len(t.vectors))}
	t.step("read vectors")
	if err := ptrace(unix.PTRACE_GETREGSET, t.ID, regsetXState, uintptr(unsafe.Pointer(&iov))); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	t.vectors = t.vectors[:iov.Len]
	if len(t.vectors) < minVectors {
		return fmt.Errorf("the extended state of the processor has %d bytes", len(t.vectors))
	}
	t.step("read mask")
	err := ptrace(getSignalMask, t.ID, unsafe.Sizeof(t.mask), uintptr(unsafe.Pointer(&t.mask)))
	return os.NewSyscallError("ptrace", err)
}

// blockSignals blocks all signals. If the tracer dies from here on, the frame gives the old mask
// back: therefore the registers that lead to the frame are set first.
func (t *Thread) blockSignals() error {
	all := ^uint64(0)
	t.step("block signals")
	return os.NewSyscallError("ptrace",
		ptrace(setSignalMask, t.ID, unsafe.Sizeof(all), uintptr(unsafe.Pointer(&all))))
}

const (
	redZone = 128 // bytes below the stack pointer that belong to the function
	// contextSize is more than the size of struct ucontext as the kernel knows it.
	contextSize = 0x200
)

// Borrow prepares the thread for Syscall and Run. mappings are those of the process.
func (t *Thread) Borrow(r Returns, mappings []target.Mapping) error {
	if err := t.save(); err != nil {
		return err
	}
	vectors := (t.Regs.Rsp - redZone - uint64(len(t.vectors)) - 4) &^ 63
	context := vectors - contextSize
	at := context - 8
	m, ok := target.Containing(mappings, t.Regs.Rsp)
	if !ok || at < m.Start || !strings.HasPrefix(m.Permissions, "rw") {
		return errors.New("the thread's stack has no room")
	}
	b := binary.LittleEndian.AppendUint64(nil, r.Sigreturn)
	b = append(b, t.Frame(vectors)...)
	t.step("write frame")
	if err := t.Memory.Write(at, b); err != nil {
		return err
	}
	t.guard = at
	return nil
}

// Frame returns a struct ucontext that restores the thread, followed by the extended state. It must
// be written contextSize bytes before vectors, which must be a multiple of 64.
func (t *Thread) Frame(vectors uint64) []byte {
	b := make([]byte, contextSize)
	put := func(offset int, v uint64) { binary.LittleEndian.PutUint64(b[offset:], v) }
	const flags, registers, segments, state, mask = 0, 40, 40 + 18*8, 40 + 23*8, 40 + 32*8
	const hasXState, hasSS, strictSS, userSS = 1, 2, 4, 0x2b
	put(flags, hasXState|hasSS|strictSS)
	r := t.resumed()
	for i, v := range []uint64{r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rdi, r.Rsi, r.Rbp, r.Rbx,
		r.Rdx, r.Rax, r.Rcx, r.Rsp, r.Rip, r.Eflags} {
		put(registers+8*i, v)
	}
	put(segments, r.Cs&0xffff|userSS<<48)
	put(state, vectors)
	put(mask, t.mask)
	return append(b, t.frameVectors()...)
}

// resumed returns the registers with which the thread resumes if nobody restarts its system call.
func (t *Thread) resumed() unix.PtraceRegs {
	if t.Call() < 0 {
		return t.Regs
	}
	switch int64(t.Regs.Rax) {
	case restartSys, restartNoIntr, restartNoHand, restartBlock:
		return t.again()
	}
	if t.wasInterrupted() {
		return t.again()
	}
	return t.Regs
}

const minVectors = 576 // the legacy area and the header

// frameVectors returns the extended state as the kernel writes it to a signal frame: with the words
// that tell its size (struct _fpx_sw_bytes), and a word behind it.
func (t *Thread) frameVectors() []byte {
	const words, magic1, magic2, features, inUse = 464, 0x46505853, 0x46505845, 464, 512
	// The kernel refuses a frame with room for AMX tiles if the process has no permission for them.
	const tiles, withoutTiles = 0x60000, 2696
	n := len(t.vectors)
	enabled := binary.LittleEndian.Uint64(t.vectors[features:]) // the kernel puts XCR0 there
	if used := binary.LittleEndian.Uint64(t.vectors[inUse:]); used&tiles == 0 && n > withoutTiles {
		n, enabled = withoutTiles, enabled&^tiles
	}
	b := append([]byte(nil), t.vectors[:n]...)
	binary.LittleEndian.PutUint32(b[words:], magic1)
	binary.LittleEndian.PutUint32(b[words+4:], uint32(n+4))
	binary.LittleEndian.PutUint64(b[words+8:], enabled)
	binary.LittleEndian.PutUint32(b[words+16:], uint32(n))
	return binary.LittleEndian.AppendUint32(b, magic2)
}

// Syscall lets the thread make a system call and returns its result. Borrow must have been called.
func (t *Thread) Syscall(r Returns, number uint64, arguments ...uint64) (int64, error) {
	const limit = 20 * time.Second
	regs := t.Regs
	regs.Rax, regs.Orig_rax, regs.Rip, regs.Rsp = number, ^uint64(0), r.Syscall, t.guard
	for i, to := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		*to = 0
		if i < len(arguments) {
			*to = arguments[i]
		}
	}
	if err := t.start(&regs); err != nil {
		return 0, err
	}
	for stops := 0; stops < 2; { // at the entry and at the exit
		t.step("syscall")
		if err := ptrace(unix.PTRACE_SYSCALL, t.ID, 0, 0); err != nil {
			return 0, os.NewSyscallError("ptrace", err)
		}
		ws, err := t.wait(limit)
		if err != nil {
			return 0, err
		}
		if ws.StopSignal() == syscallStop {
			stops++
		} else if event(ws) == 0 {
			return 0, fmt.Errorf("%s in a system call", ws.StopSignal())
		}
	}
	t.step("read result")
	if err := unix.PtraceGetRegs(t.ID, &regs); err != nil {
		return 0, os.NewSyscallError("ptrace", err)
	}
	return int64(regs.Rax), nil
}

// start sets the registers, and blocks signals.
func (t *Thread) start(regs *unix.PtraceRegs) error {
	t.borrowed = true
	t.step("set registers")
	if err := unix.PtraceSetRegs(t.ID, regs); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	return t.blockSignals()
}

// Code is what Run runs.
type Code struct {
	// PC and SP are where it begins, and its stack.
	PC, SP uint64
	// RBX is the value of that register.
	RBX uint64
	// Done is the address of a word that becomes 1 when the code waits for the thread to be put back.
	Done uint64
	// Range contains the code.
	Range target.Range
}

// ErrLocked is returned if the code waits for a lock for long. It has changed nothing then.
var ErrLocked = errors.New("a function of the C library waits for a lock")

// Run lets the thread run code that puts it back by itself if that is not done soon after it is
// done. It returns when the thread is stopped again, with its vector registers and its mask
// restored; Release restores the rest.
func (t *Thread) Run(c Code) error {
	const trapFlag, directionFlag = 0x100, 0x400
	regs := t.Regs
	regs.Rip, regs.Rsp, regs.Rbx, regs.Orig_rax, regs.Rax = c.PC, c.SP, c.RBX, ^uint64(0), 0
	regs.Eflags &^= trapFlag | directionFlag
	if err := t.start(&regs); err != nil {
		return err
	}
	t.step("run")
	if err := ptrace(unix.PTRACE_CONT, t.ID, 0, 0); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	err := t.waitDone(c)
	if errors.Is(err, ErrEnded) {
		return err
	}
	return errors.Join(err, t.interrupt(runLimit), t.lookWhereItIs(c))
}

// runLimit is the time after which code is taken to hang.
const runLimit = 20 * time.Second

// waitDone waits until the code is done.
func (t *Thread) waitDone(c Code) error {
	const checkEvery, patience = 2048, 8
	end := time.Now().Add(runLimit)
	for n, locked := 0, 0; ; n++ {
		if done, err := t.Memory.Uint32(c.Done); err != nil || done != 0 {
			return err
		}
		if err := t.passStop(); err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.New("a function of the C library does not return")
		}
		if n > 0 && n%checkEvery == 0 {
			if locked = t.countLocked(locked); locked == patience {
				return ErrLocked
			}
		}
		nap()
	}
}

// countLocked returns before plus 1 if the thread waits for a lock, or 0.
func (t *Thread) countLocked(before int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", t.Memory.PID, t.ID))
	if strings.HasPrefix(string(b), fmt.Sprint(unix.SYS_FUTEX, " ")) {
		return before + 1
	}
	return 0
}

// passStop lets the thread go on if it has stopped.
func (t *Thread) passStop() error {
	ws, changed, err := t.poll()
	if err != nil || !changed {
		return err
	}
	switch s := ws.StopSignal(); {
	case event(ws) != 0:
	case s == unix.SIGSEGV || s == unix.SIGILL || s == unix.SIGBUS || s == unix.SIGTRAP || s == unix.SIGSYS:
		return fmt.Errorf("%s in a function of the C library", s)
	}
	return os.NewSyscallError("ptrace", ptrace(unix.PTRACE_CONT, t.ID, 0, 0))
}

// lookWhereItIs finds out whether the thread still runs the code. If it was faster than the tracer, it
// has put itself back, and nothing is left to restore.
func (t *Thread) lookWhereItIs(c Code) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.ID, &regs); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	if c.Range.Contains(regs.Rip) {
		return nil
	}
	done, err := t.Memory.Uint32(c.Done)
	if err == nil && done != 0 {
		t.borrowed, t.Regs = false, regs
	}
	return err
}

// restore restores what Borrow has saved.
func (t *Thread) restore() error {
	iov := unix.Iovec{Base: &t.vectors[0], Len: uint64(len(t.vectors))}
	t.step("restore vectors")
	if err := ptrace(unix.PTRACE_SETREGSET, t.ID, regsetXState, uintptr(unsafe.Pointer(&iov))); err != nil {
		return err
	}
	t.step("restore mask")
	return ptrace(setSignalMask, t.ID, unsafe.Sizeof(t.mask), uintptr(unsafe.Pointer(&t.mask)))
}
