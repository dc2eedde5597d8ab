package seccomp

import (
	"encoding/binary"
	"errors"
)

// Call is a system call. Arguments that are not known are zero.
type Call struct {
	Number    uint32
	Arguments [6]uint64
}

// Action is what a filter returns for a call.
type Action uint32

// Actions of seccomp(2), without the data in their lower half.
const (
	KillProcess Action = 0x80000000
	KillThread  Action = 0
	Trap        Action = 0x00030000
	Errno       Action = 0x00050000
	UserNotify  Action = 0x7fc00000
	Trace       Action = 0x7ff00000
	Log         Action = 0x7ffc0000
	Allow       Action = 0x7fff0000
)

const (
	instructionSize = 8
	dataSize        = 64
	auditX86        = 0xc000003e // AUDIT_ARCH_X86_64
)

var errProgram = errors.New("malformed seccomp filter")

// data returns struct seccomp_data of a call.
func (c Call) data() []byte {
	b := binary.LittleEndian.AppendUint32(nil, c.Number)
	b = binary.LittleEndian.AppendUint32(b, auditX86)
	b = binary.LittleEndian.AppendUint64(b, 0) // the instruction pointer
	for _, a := range c.Arguments {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// Run returns what the program of a filter, an array of struct sock_filter, returns for a call.
func Run(program []byte, call Call) (Action, error) {
	m := machine{data: call.data()}
	n := len(program) / instructionSize
	// Jumps go forwards only, so that a program ends after n instructions.
	for m.pc = 0; m.pc < n; m.pc++ {
		i := program[m.pc*instructionSize:]
		done, err := m.step(instruction{
			code: binary.LittleEndian.Uint16(i), yes: int(i[2]), no: int(i[3]), k: binary.LittleEndian.Uint32(i[4:]),
		})
		if done || err != nil {
			return Action(m.result) &^ 0xffff, err
		}
	}
	return 0, errProgram
}

type instruction struct {
	code    uint16
	yes, no int
	k       uint32
}

type machine struct {
	data   []byte
	pc     int
	a, x   uint32
	memory [16]uint32
	result uint32
}

// Classes, sizes and modes of instructions (linux/bpf_common.h).
const (
	classLoad, classLoadX, classStore, classStoreX = 0, 1, 2, 3
	classALU, classJump, classReturn, classMisc    = 4, 5, 6, 7
	modeImmediate, modeAbsolute, modeMemory        = 0x00, 0x20, 0x60
	modeLength                                     = 0x80
	sourceX                                        = 0x08
)

func (m *machine) step(i instruction) (done bool, err error) {
	operand := i.k
	if i.code&sourceX != 0 {
		operand = m.x
	}
	switch i.code & 7 {
	case classLoad:
		m.a, err = m.load(i)
	case classLoadX:
		m.x, err = m.load(i)
	case classStore:
		err = m.store(i.k, m.a)
	case classStoreX:
		err = m.store(i.k, m.x)
	case classALU:
		err = m.compute(i.code&0xf0, operand)
	case classJump:
		err = m.jump(i, operand)
	case classReturn:
		m.result = i.k
		if i.code&0x18 == 0x10 {
			m.result = m.a
		}
		return true, nil
	case classMisc:
		if i.code&0xf8 == 0 {
			m.x = m.a
		} else {
			m.a = m.x
		}
	}
	return false, err
}

func (m *machine) load(i instruction) (uint32, error) {
	switch mode := i.code & 0xe0; {
	case mode == modeImmediate:
		return i.k, nil
	case mode == modeAbsolute && i.k <= dataSize-4 && i.k%4 == 0:
		return binary.LittleEndian.Uint32(m.data[i.k:]), nil
	case mode == modeMemory && i.k < uint32(len(m.memory)):
		return m.memory[i.k], nil
	case mode == modeLength:
		return dataSize, nil
	}
	return 0, errProgram
}

func (m *machine) store(k, v uint32) error {
	if k >= uint32(len(m.memory)) {
		return errProgram
	}
	m.memory[k] = v
	return nil
}

func (m *machine) compute(operation uint16, v uint32) error {
	switch operation {
	case 0x00:
		m.a += v
	case 0x10:
		m.a -= v
	case 0x20:
		m.a *= v
	case 0x30:
		if v == 0 {
			return errProgram
		}
		m.a /= v
	case 0x40:
		m.a |= v
	case 0x50:
		m.a &= v
	case 0x60:
		m.a <<= v & 31
	case 0x70:
		m.a >>= v & 31
	case 0x80:
		m.a = -m.a
	case 0xa0:
		m.a ^= v
	default:
		return errProgram
	}
	return nil
}

func (m *machine) jump(i instruction, v uint32) error {
	var taken bool
	switch i.code & 0xf0 {
	case 0x00:
		if i.k > 4096 {
			return errProgram
		}
		m.pc += int(i.k)
		return nil
	case 0x10:
		taken = m.a == v
	case 0x20:
		taken = m.a > v
	case 0x30:
		taken = m.a >= v
	case 0x40:
		taken = m.a&v != 0
	default:
		return errProgram
	}
	if taken {
		m.pc += i.yes
	} else {
		m.pc += i.no
	}
	return nil
}
