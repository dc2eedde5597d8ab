//go:build linux

package unwind

// evaluate computes a DWARF expression of call frame information: of signal frames, of the tables of
// imports, and of functions that align their stack. stack is what is on the stack at first.
func evaluate(info, data memory, c code, regs *Registers, stack []uint64, left *budget) (uint64, bool) {
	const maxDepth = 64
	e := evaluation{r: reader{memory: info, at: c.start}, data: data, regs: regs, stack: stack}
	for e.r.at < c.end && !e.failed && !e.r.failed {
		if !left.spend() || len(e.stack) > maxDepth {
			return 0, false
		}
		e.step(e.r.byte())
	}
	v := e.pop()
	return v, !e.failed && !e.r.failed
}

type evaluation struct {
	r      reader
	data   memory
	regs   *Registers
	stack  []uint64
	failed bool
}

func (e *evaluation) push(v uint64) { e.stack = append(e.stack, v) }

func (e *evaluation) pop() uint64 {
	if len(e.stack) == 0 {
		e.failed = true
		return 0
	}
	v := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	return v
}

func (e *evaluation) step(op byte) {
	switch {
	case op >= 0x30 && op <= 0x4f: // DW_OP_lit0 and so on
		e.push(uint64(op - 0x30))
	case op >= 0x70 && op <= 0x80: // DW_OP_breg0 and so on
		e.push(e.regs[op-0x70] + uint64(e.r.sleb()))
	case op == 0x06: // DW_OP_deref
		v, ok := load(e.data, e.pop())
		e.failed = e.failed || !ok
		e.push(v)
	case op == 0x08: // DW_OP_const1u
		e.push(e.r.unsigned(1))
	case op == 0x09: // DW_OP_const1s
		e.push(uint64(e.r.signed(1)))
	case op == 0x0a: // DW_OP_const2u
		e.push(e.r.unsigned(2))
	case op == 0x0c: // DW_OP_const4u
		e.push(e.r.unsigned(4))
	case op == 0x10: // DW_OP_constu
		e.push(e.r.uleb())
	case op == 0x11: // DW_OP_consts
		e.push(uint64(e.r.sleb()))
	case op == 0x12: // DW_OP_dup
		v := e.pop()
		e.push(v)
		e.push(v)
	case op == 0x23: // DW_OP_plus_uconst
		e.push(e.pop() + e.r.uleb())
	default:
		e.binary(op)
	}
}

// binary executes an operation on the two uppermost values.
func (e *evaluation) binary(op byte) {
	b, a := e.pop(), e.pop()
	switch op {
	case 0x1a: // DW_OP_and
		e.push(a & b)
	case 0x1c: // DW_OP_minus
		e.push(a - b)
	case 0x22: // DW_OP_plus
		e.push(a + b)
	case 0x24: // DW_OP_shl
		e.push(a << (b & 63))
	case 0x2a: // DW_OP_ge
		v := uint64(0)
		if int64(a) >= int64(b) {
			v = 1
		}
		e.push(v)
	default:
		e.failed = true
	}
}
