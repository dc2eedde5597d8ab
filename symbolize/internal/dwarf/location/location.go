// Package location evaluates location expressions (DWARF 5 section 2.6.1): where a variable or a
// member is. It understands what compilers write of places in memory, and leaves out the rest.
package location

import "github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"

// Fixed returns the address of a variable whose expression only pushes it. Another operation behind
// that says that it is the offset of a thread-local variable. indexed returns an address of
// .debug_addr.
func Fixed(expression []byte, addrSize uint8, indexed func(uint64) (uint64, bool)) (addr uint64, threadLocal, ok bool) {
	c := encoding.Cursor{Data: expression}
	switch c.U8() {
	case OpAddr:
		addr, ok = c.Uint(addrSize), true
	case OpConst4u:
		addr, ok = uint64(c.U32()), true
	case OpConst8u:
		addr, ok = c.U64(), true
	case OpAddrx, OpGNUAddrIndex:
		addr, ok = indexed(c.Uleb())
	}
	if !c.Failed && c.Off < uint64(len(expression)) {
		op := c.U8()
		threadLocal = op == OpGNUPushTLSAddress || op == OpFormTLSAddress
	}
	return addr, threadLocal, ok && !c.Failed && c.Off == uint64(len(expression))
}

// Member returns the offset of a member in its structure. Old compilers write it as an expression
// that adds it.
func Member(expression []byte) (offset uint64, ok bool) {
	c := encoding.Cursor{Data: expression}
	op := c.U8()
	offset = c.Uleb()
	return offset, op == OpPlusUconst && !c.Failed && c.Off == uint64(len(expression))
}

// Frame has the values on which the locations of variables depend.
type Frame struct {
	// CFA is the address of the frame (DWARF 5 section 6.4).
	CFA uint64
	// Registers has those that are known, by their numbers.
	Registers map[uint64]uint64
}

// Part is a part of a variable that is in memory.
type Part struct {
	// Offset is that in the variable.
	Offset uint64
	// Size is in bytes, or 0 if the part is the whole variable.
	Size    uint64
	Address uint64
}

// maxParts limits the parts of a variable.
const maxParts = 1 << 12

// Parts returns the parts of a variable that are in memory. base is the DW_AT_frame_base of its
// function.
func Parts(expression, base []byte, f Frame) (list []Part) {
	c := encoding.Cursor{Data: expression}
	start, hasStart := frameBase(base, f)
	offset := uint64(0)
	for range maxParts {
		addr, inMemory, known := place(&c, f, start, hasStart)
		switch {
		case !known:
			return list
		case c.Off == uint64(len(c.Data)):
			if inMemory && offset == 0 {
				list = append(list, Part{Address: addr})
			}
			return list
		}
		c.U8() // DW_OP_piece
		size := c.Uleb()
		if c.Failed || size > 1<<32 {
			return list
		}
		if inMemory && size > 0 {
			list = append(list, Part{Offset: offset, Size: size, Address: addr})
		}
		offset += size
	}
	return list
}

// frameBase returns what DW_AT_frame_base stands for.
func frameBase(expression []byte, f Frame) (addr uint64, ok bool) {
	c := encoding.Cursor{Data: expression}
	switch op := c.U8(); {
	case op == OpCallFrameCFA:
		addr, ok = f.CFA, true
	case op >= OpReg0 && op <= OpReg31:
		addr, ok = f.Registers[uint64(op-OpReg0)]
	case op >= OpBreg0 && op <= OpBreg31:
		addr, ok = f.Registers[uint64(op-OpBreg0)]
		addr += uint64(c.Sleb())
	}
	return addr, ok && !c.Failed && c.Off == uint64(len(expression))
}

// place reads an expression up to the end or to DW_OP_piece. It is in memory if it is an address
// relative to the frame or to a register. known is false if something is not understood.
func place(c *encoding.Cursor, f Frame, base uint64, hasBase bool) (addr uint64, inMemory, known bool) {
	for n := 0; c.Off < uint64(len(c.Data)); n++ {
		op := c.Data[c.Off]
		if op == OpPiece {
			return addr, inMemory, true
		}
		c.U8()
		switch {
		case n == 0 && op == OpFbreg:
			addr, inMemory = base+uint64(c.Sleb()), hasBase
		case n == 0 && op >= OpBreg0 && op <= OpBreg31:
			addr, inMemory = f.Registers[uint64(op-OpBreg0)]
			addr += uint64(c.Sleb())
		case op == OpPlusUconst:
			addr += c.Uleb()
		default:
			inMemory = false
			if !skipOperands(c, op) {
				return 0, false, false
			}
		}
		if c.Failed {
			return 0, false, false
		}
	}
	return addr, inMemory, true
}

// skipOperands moves behind the operands of an operation whose result is not wanted.
func skipOperands(c *encoding.Cursor, op byte) bool {
	switch {
	case op == OpDeref, op >= OpAnd && op <= OpPlus, op >= OpShl && op <= OpXor, op >= OpLit0 && op <= OpReg31,
		op == OpStackValue:
	case op == OpAddr:
		return false
	case op >= OpConst1u && op <= OpConst8s:
		c.Skip(1 << ((op - OpConst1u) / 2))
	case op == OpConstu, op == OpRegx:
		c.Uleb()
	case op == OpConsts, op >= OpBreg0 && op <= OpBreg31, op == OpFbreg:
		c.Sleb()
	case op == OpImplicitValue, op == OpEntryValue, op == OpGNUEntryValue:
		c.Skip(c.Uleb())
	default:
		return false
	}
	return true
}
