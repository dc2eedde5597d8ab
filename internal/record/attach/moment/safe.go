//go:build linux && amd64

package moment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/heaplapse/heaplapse/internal/callsite"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
)

// Judge decides for the threads of one process.
type Judge struct {
	// Mappings are those of the process at the last safe moment.
	Mappings []target.Mapping

	process  *target.Process
	unwinder unwind.Unwinder
	regions  regions
	stub     []byte
}

// NewJudge returns a Judge. It must be made again if libraries were loaded since. stub is the code
// that borrowed threads run: where it is found, a heaplapse that has died has left it, and the thread
// has not put itself back yet.
func NewJudge(p *target.Process, stub []byte) *Judge {
	return &Judge{
		stub: stub, process: p, regions: regionsOf(p),
		unwinder: unwind.Unwinder{Memory: p.Memory, Modules: p.Modules},
	}
}

// ErrStale is returned if the stack has code of a library that was loaded after NewJudge.
var ErrStale = errors.New("a library was loaded meanwhile")

func notSafe(format string, args ...any) error { return fmt.Errorf("unsafe: "+format, args...) }

// Safe returns nil if a stopped thread may call pthread_create, and the reason otherwise.
func (j *Judge) Safe(t *tracer.Thread) error {
	p := place{Judge: j, thread: t, call: t.Call(), inLibc: j.process.Libc.HasCode(t.Regs.Rip)}
	if err := p.checkInstruction(); err != nil {
		return err
	}
	frames, complete, rest := j.unwinder.Stack(t.Registers())
	if err := p.checkFrames(frames); err != nil {
		return err
	}
	if isWait(p.call) && p.inLibc && !p.waitsForProgram(frames) {
		return notSafe("waits for a lock of the C library")
	}
	mappings, err := target.Mappings(j.process.PID)
	if err != nil {
		return err
	}
	j.Mappings = mappings
	if err := p.checkFresh(frames, mappings); err != nil {
		return err
	}
	if complete {
		return p.checkThreadFrames(frames)
	}
	if p.inLibc && !idle[p.call] && !isWait(p.call) {
		return notSafe("in the C library, and the stack cannot be unwound")
	}
	return p.checkWords(mappings, rest)
}

// place is where a thread was stopped.
type place struct {
	*Judge
	thread *tracer.Thread
	call   int64
	inLibc bool
}

// checkInstruction looks at the innermost instruction alone.
func (p *place) checkInstruction() error {
	if name := p.regions.unsafeAt(p.thread.Regs.Rip); name != "" {
		return notSafe("in %s", name)
	}
	if p.call < 0 && p.inLibc {
		return notSafe("in the C library")
	}
	if locking[p.call] {
		return notSafe("in system call %d", p.call)
	}
	if p.thread.InRestartableSequence() {
		return notSafe("in a restartable sequence")
	}
	return nil
}

func (p *place) checkFrames(frames []unwind.Frame) error {
	for _, f := range frames {
		if f.Signal {
			return notSafe("in a signal handler")
		}
		if name := p.regions.unsafeAt(f.Call); name != "" {
			return notSafe("called from %s", name)
		}
	}
	return nil
}

// waitsForProgram reports whether a futex is that of a condition, a semaphore or the like. (A lock of
// the C library may be one that pthread_create needs.)
func (p *place) waitsForProgram(frames []unwind.Frame) bool {
	const innermost = 5
	if p.regions.system.Contains(p.thread.Regs.Rip) {
		return true
	}
	for _, f := range frames[:min(len(frames), innermost)] {
		for _, w := range p.regions.waits {
			if w.Contains(f.Call) {
				return true
			}
		}
	}
	return false
}

// checkFresh finds frames in files that were mapped after the modules were read: their code was taken
// for generated code.
func (p *place) checkFresh(frames []unwind.Frame, mappings []target.Mapping) error {
	for _, f := range frames {
		m, ok := target.Containing(mappings, f.Call)
		known, _ := target.Containing(p.process.Mappings, f.Call)
		if !ok || m.Path != known.Path {
			return ErrStale
		}
		if f.Module == nil && p.isStub(m) {
			return notSafe("attaching is not finished")
		}
	}
	return nil
}

// isStub reports whether a mapping has the code that borrowed threads run.
func (p *place) isStub(m target.Mapping) bool {
	b := make([]byte, len(p.stub))
	return m.Path == "" && len(b) > 0 && p.process.Memory.Read(m.Start, b) == nil && bytes.Equal(b, p.stub)
}

// checkThreadFrames finds a thread that is being created or is ending. The outermost frames of every
// thread are in the thread library; they called a function of the program.
func (p *place) checkThreadFrames(frames []unwind.Frame) error {
	const outermost = 2
	for i, f := range frames {
		if !p.regions.threads.Contains(f.Call) {
			continue
		}
		if i == 0 || i < len(frames)-outermost || frames[i-1].Module == p.process.Libc {
			return notSafe("a thread begins or ends")
		}
	}
	return nil
}

// checkWords is used if the stack was not unwound to its end: no word in the rest of it may be a
// return address into unsafe code, or of a signal handler.
func (p *place) checkWords(mappings []target.Mapping, from uint64) error {
	const most = 8 << 20
	from &^= 7
	m, ok := target.Containing(mappings, from)
	if !ok {
		return notSafe("the stack is not mapped")
	}
	end := m.End
	if tp := p.thread.Regs.Fs_base; tp > from && tp < end {
		end = tp // the thread's descriptor follows its stack
	}
	words := make([]byte, min(end-from, most)&^7)
	if err := p.process.Memory.Read(from, words); err != nil {
		return notSafe("the stack cannot be read")
	}
	for ; len(words) > 0; words = words[8:] {
		word := binary.LittleEndian.Uint64(words)
		name := p.regions.unsafeAt(word)
		if name != "" && p.followsCall(word) {
			return notSafe("the stack may have a call from %s", name)
		}
		if p.isSignalReturn(word) {
			return notSafe("the stack may have a signal handler")
		}
	}
	return nil
}

// isSignalReturn reports whether a word is the address to which signal handlers of the C library
// return.
func (p *place) isSignalReturn(word uint64) bool {
	const sigreturn = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05" // mov $15, %rax; syscall
	var b [len(sigreturn)]byte
	return p.process.Libc.HasCode(word) && p.process.Memory.Read(word, b[:]) == nil && string(b[:]) == sigreturn
}

// followsCall reports whether the instruction before an address may be a call.
func (p *place) followsCall(address uint64) bool {
	var b [callsite.Size]byte
	return p.process.Memory.Read(address-callsite.Size, b[:]) == nil && callsite.X86(b)
}
