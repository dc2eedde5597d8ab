//go:build linux

package unwind

import "github.com/heaplapse/heaplapse/internal/record/attach/target"

// Frame is a frame of a stack.
type Frame struct {
	// PC is the instruction that is executed next: for all but the innermost frame and those that a
	// signal interrupted, the one behind a call.
	PC uint64
	// Call is an address within the instruction that was executed last.
	Call uint64
	// SP is the stack pointer. What the frame has on the stack lies from there to the SP of its caller.
	SP uint64
	// CFA is the address of the frame: the stack pointer of its caller before the call. It is 0 if a frame pointer was
	// guessed on the way, and for the outermost frame.
	CFA uint64
	// Registers has their values in the frame. Of all but the innermost one, only those count that a call preserves.
	Registers Registers
	// Module is the object whose code it is. It is nil for generated code.
	Module *target.Module
	// Signal reports whether a signal handler returns to this frame.
	Signal bool
}

// Unwinder unwinds the stacks of a process with the given modules.
type Unwinder struct {
	Memory  target.Memory
	Modules []*target.Module
	code    target.Cache
}

// Module returns the module whose code contains an address, or nil.
func (u *Unwinder) Module(address uint64) *target.Module {
	for _, m := range u.Modules {
		if m.HasCode(address) {
			return m
		}
	}
	return nil
}

const (
	maxFrames = 4096
	maxFrame  = 1 << 20 // bytes of a frame that is found by its frame pointer
	lowest    = 4096    // no code is below
)

// Stack returns the frames of a stopped thread, innermost first. complete reports whether the
// outermost one was reached. rest is the stack pointer of the last frame: what is above it was not
// unwound.
func (u *Unwinder) Stack(regs Registers) (frames []Frame, complete bool, rest uint64) {
	u.code.Memory = u.Memory
	w := walk{Unwinder: u, stack: target.Cache{Memory: u.Memory}, regs: regs, exact: true, left: maxInstructions}
	for len(frames) < maxFrames {
		if w.regs[pc] < lowest {
			return frames, len(frames) > 0, w.regs[rsp]
		}
		f, result := w.step(len(frames) == 0)
		frames = append(frames, f)
		if result != goOn {
			return frames, result == outermost, w.regs[rsp]
		}
	}
	return frames, false, w.regs[rsp]
}

type outcome int

const (
	goOn outcome = iota
	outermost
	lost
)

type walk struct {
	*Unwinder
	stack target.Cache
	regs  Registers
	exact bool // the pc is not behind a call
	// guessed is set behind a frame that was found by its frame pointer.
	guessed bool
	left    budget
}

// step returns the current frame and goes to its caller.
func (w *walk) step(innermost bool) (Frame, outcome) {
	f := Frame{PC: w.regs[pc], Call: w.regs[pc], SP: w.regs[rsp], Registers: w.regs}
	if !w.exact {
		f.Call--
	}
	f.Module = w.Module(f.Call)
	if f.Module != nil && f.Module.Unwind != 0 {
		if d, ok := find(&w.code, f.Module.Unwind, f.Call); ok {
			f.Signal = d.signal
			base, result := w.byRules(&d, f.Call, innermost)
			if !w.guessed {
				f.CFA = base
			}
			return f, result
		}
	}
	if innermost && f.Module != nil {
		return f, lost // in the middle of a function, the frame pointer may be the caller's
	}
	return f, w.byFramePointer()
}

func (w *walk) byFramePointer() outcome {
	at := w.regs[rbp]
	caller, ok := load(&w.stack, at)
	back, okToo := load(&w.stack, at+8)
	if at <= w.regs[rsp] || at-w.regs[rsp] > maxFrame || at%8 != 0 || !ok || !okToo || back < lowest {
		return lost
	}
	w.regs[rsp], w.regs[rbp], w.regs[pc] = at+16, caller, back
	w.exact, w.guessed = false, true
	return goOn
}

// byRules goes to the caller, and returns the address of the frame.
func (w *walk) byRules(d *description, at uint64, innermost bool) (base uint64, result outcome) {
	row, ok := d.rowAt(&w.code, at, &w.left)
	if !ok {
		return 0, lost
	}
	if row.rules[pc].kind == undefined {
		return 0, outermost
	}
	base, ok = w.base(&row)
	if !ok {
		return 0, lost
	}
	caller := w.regs
	for i, r := range row.rules {
		if v, ok := w.value(r, i, base); ok {
			caller[i] = v
		} else {
			return 0, lost
		}
	}
	if row.rules[rsp].kind == same {
		caller[rsp] = base
	}
	if caller[rsp] <= w.regs[rsp] && !innermost && !d.signal {
		return 0, lost // it would not end
	}
	w.regs, w.exact = caller, d.signal
	return base, goOn
}

// base returns the address of the frame.
func (w *walk) base(r *row) (uint64, bool) {
	if r.expression != (code{}) {
		return evaluate(&w.code, &w.stack, r.expression, &w.regs, nil, &w.left)
	}
	if r.register >= uint64(len(w.regs)) {
		return 0, false
	}
	return w.regs[r.register] + uint64(r.offset), true
}

// value returns the caller's value of register i.
func (w *walk) value(r rule, i int, base uint64) (v uint64, ok bool) {
	switch r.kind {
	case atOffset:
		return load(&w.stack, base+uint64(r.offset))
	case isOffset:
		return base + uint64(r.offset), true
	case inRegister:
		if r.offset < 0 || r.offset >= int64(len(w.regs)) {
			return 0, false
		}
		return w.regs[r.offset], true
	case atExpression, isExpression:
		v, ok = evaluate(&w.code, &w.stack, r.expression, &w.regs, []uint64{base}, &w.left)
		if ok && r.kind == atExpression {
			v, ok = load(&w.stack, v)
		}
		return v, ok
	}
	return w.regs[i], true
}
