//go:build linux

package unwind

// Registers has the values of registers by their DWARF numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp,
// rsp, r8 to r15, and the return address.
type Registers [17]uint64

const (
	rbp = 6
	rsp = 7
	pc  = 16
)

// Numbers of registers.
const (
	SP = rsp // the stack pointer
	PC = pc  // the program counter
)

type ruleKind byte

const (
	same ruleKind = iota // the caller's value is still there
	undefined
	atOffset // saved at the frame's address plus offset
	isOffset // is the frame's address plus offset
	inRegister
	atExpression
	isExpression
)

// rule tells how the caller's value of a register is found.
type rule struct {
	kind       ruleKind
	offset     int64 // or the number of a register
	expression code
}

// row has the rules at one instruction. The frame's address is a register plus offset, or an
// expression.
type row struct {
	register   uint64
	offset     int64
	expression code
	rules      [len(Registers{})]rule
}

// machine runs the instructions of a description.
type machine struct {
	description
	memory   memory
	row, cie row
	saved    []row
	location uint64
	left     *budget
	failed   bool
}

// rowAt returns the rules of a description at an address of its code.
func (d *description) rowAt(m memory, address uint64, left *budget) (row, bool) {
	v := machine{description: *d, memory: m, location: d.start, left: left}
	v.row.rules[pc].kind = undefined
	v.run(d.initial, ^uint64(0))
	v.cie = v.row
	v.run(d.program, address)
	return v.row, !v.failed
}

const maxSaved = 64

// budget is the number of instructions that may still be executed for a stack. The memory may be
// damaged, and a thread is stopped meanwhile.
type budget int

// maxInstructions is enough for 4096 frames of 256 instructions.
const maxInstructions budget = 1 << 20

// spend reports whether another instruction may be executed.
func (b *budget) spend() bool {
	*b--
	return *b >= 0
}

// run executes instructions up to an address of the code.
func (v *machine) run(c code, until uint64) {
	r := reader{memory: v.memory, at: c.start}
	for r.at < c.end && !v.failed {
		if !v.left.spend() || r.failed {
			v.failed = true
			return
		}
		op := r.byte()
		low := uint64(op & 0x3f)
		switch op >> 6 {
		case 1:
			v.location += low * v.codeFactor
		case 2:
			v.set(low, rule{kind: atOffset, offset: int64(r.uleb()) * v.dataFactor})
		case 3:
			v.restore(low)
		default:
			v.extended(op, &r)
		}
		if v.location > until {
			return
		}
	}
	v.failed = v.failed || r.failed
}

func (v *machine) set(register uint64, r rule) {
	if register < uint64(len(v.row.rules)) {
		v.row.rules[register] = r
	}
}

func (v *machine) restore(register uint64) {
	if register < uint64(len(v.row.rules)) {
		v.row.rules[register] = v.cie.rules[register]
	}
}

// block reads the range of an expression.
func (r *reader) block() code {
	n := r.uleb()
	c := code{r.at, r.at + n}
	r.at += n
	return c
}

// extended executes an instruction whose two highest bits are 0.
func (v *machine) extended(op byte, r *reader) {
	switch op {
	case 0x00: // DW_CFA_nop
	case 0x01: // DW_CFA_set_loc
		v.location = r.unsigned(8)
	case 0x02, 0x03, 0x04: // DW_CFA_advance_loc1, 2, 4
		v.location += r.unsigned(1<<(op-2)) * v.codeFactor
	case 0x05: // DW_CFA_offset_extended
		v.setOffset(r.uleb(), atOffset, int64(r.uleb()))
	case 0x06: // DW_CFA_restore_extended
		v.restore(r.uleb())
	case 0x07: // DW_CFA_undefined
		v.set(r.uleb(), rule{kind: undefined})
	case 0x08: // DW_CFA_same_value
		v.set(r.uleb(), rule{})
	case 0x09: // DW_CFA_register
		v.set(r.uleb(), rule{kind: inRegister, offset: int64(r.uleb())})
	case 0x0a: // DW_CFA_remember_state
		v.failed = len(v.saved) == maxSaved
		v.saved = append(v.saved, v.row)
	case 0x0b: // DW_CFA_restore_state
		v.pop()
	case 0x0c: // DW_CFA_def_cfa
		v.row.register, v.row.offset, v.row.expression = r.uleb(), int64(r.uleb()), code{}
	case 0x0d: // DW_CFA_def_cfa_register
		v.row.register, v.row.expression = r.uleb(), code{}
	case 0x0e: // DW_CFA_def_cfa_offset
		v.row.offset = int64(r.uleb())
	case 0x0f: // DW_CFA_def_cfa_expression
		v.row.expression = r.block()
	case 0x10: // DW_CFA_expression
		v.set(r.uleb(), rule{kind: atExpression, expression: r.block()})
	case 0x11: // DW_CFA_offset_extended_sf
		v.setOffset(r.uleb(), atOffset, r.sleb())
	case 0x12: // DW_CFA_def_cfa_sf
		v.row.register, v.row.offset, v.row.expression = r.uleb(), r.sleb()*v.dataFactor, code{}
	case 0x13: // DW_CFA_def_cfa_offset_sf
		v.row.offset = r.sleb() * v.dataFactor
	case 0x14: // DW_CFA_val_offset
		v.setOffset(r.uleb(), isOffset, int64(r.uleb()))
	case 0x15: // DW_CFA_val_offset_sf
		v.setOffset(r.uleb(), isOffset, r.sleb())
	case 0x16: // DW_CFA_val_expression
		v.set(r.uleb(), rule{kind: isExpression, expression: r.block()})
	case 0x2e: // DW_CFA_GNU_args_size
		r.uleb()
	default:
		v.failed = true
	}
}

func (v *machine) setOffset(register uint64, kind ruleKind, factored int64) {
	v.set(register, rule{kind: kind, offset: factored * v.dataFactor})
}

func (v *machine) pop() {
	if len(v.saved) == 0 {
		v.failed = true
		return
	}
	v.row, v.saved = v.saved[len(v.saved)-1], v.saved[:len(v.saved)-1]
}
