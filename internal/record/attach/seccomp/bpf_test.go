package seccomp

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

type op struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

func assemble(ops ...op) (b []byte) {
	for _, o := range ops {
		b = binary.LittleEndian.AppendUint16(b, o.code)
		b = append(b, o.jt, o.jf)
		b = binary.LittleEndian.AppendUint32(b, o.k)
	}
	return b
}

const (
	loadWord, jumpEqual, jumpSet, ret, and, toX, fromX, storeA, loadMemory = 0x20, 0x15, 0x45, 0x06, 0x54, 0x07, 0x87, 0x02, 0x60
)

// TestRun runs programs whose results are known.
func TestRun(t *testing.T) {
	const call, argument = 0, 16
	deny42 := assemble(op{code: loadWord, k: call}, op{jumpEqual, 0, 1, 42}, op{code: ret, k: uint32(KillProcess)},
		op{code: ret, k: uint32(Allow)})
	// As docker permits clone only without flags for namespaces.
	flags := assemble(op{code: loadWord, k: argument}, op{code: and, k: 0x7e020000}, op{jumpEqual, 0, 1, 0},
		op{code: ret, k: uint32(Allow)}, op{code: ret, k: uint32(Errno) | 1})
	memory := assemble(op{code: loadWord, k: call}, op{code: storeA, k: 3}, op{code: toX}, op{code: loadMemory, k: 3},
		op{code: 0x1d, jt: 0, jf: 1}, op{code: ret, k: uint32(Log)}, op{code: ret, k: uint32(Trap)})
	for _, c := range []struct {
		program []byte
		call    Call
		want    Action
	}{
		{deny42, Call{Number: 42}, KillProcess},
		{deny42, Call{Number: 43}, Allow},
		{flags, Call{Arguments: [6]uint64{0x3d0f00}}, Allow},
		{flags, Call{Arguments: [6]uint64{0x10000000}}, Errno},
		{memory, Call{Number: 7}, Log},
	} {
		got, err := Run(c.program, c.call)
		assert.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

// FuzzRun: any program gives an action or an error, and ends.
func FuzzRun(f *testing.F) {
	f.Add(assemble(op{code: loadWord}, op{jumpSet, 1, 0, 1}, op{code: fromX}, op{code: ret, k: uint32(Allow)}), uint32(9))
	f.Add([]byte{0x05, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, uint32(0))
	f.Fuzz(func(t *testing.T, program []byte, number uint32) {
		action, err := Run(program, Call{Number: number})
		if err == nil && action&0xffff != 0 {
			t.Fatalf("action %#x has data", uint32(action))
		}
	})
}
