//go:build linux

package unwind

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// The memory of FuzzUnwind: the tables, the code that they describe, and the stack. Its address is
// fixed, so that an input that fails does so again.
const (
	fuzzBase       = 0x5eed0000000
	tables, text   = fuzzBase, fuzzBase + 0x8000
	stack, fuzzEnd = fuzzBase + 0xc000, fuzzBase + 0x10000
)

// fuzzMemory maps the memory at its address until the end of the test.
func fuzzMemory(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MUNMAP, fuzzBase, fuzzEnd-fuzzBase, 0) })
	const mapFixedNoReplace = 0x100000
	at, _, e := unix.Syscall6(unix.SYS_MMAP, fuzzBase, fuzzEnd-fuzzBase, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|mapFixedNoReplace, ^uintptr(0), 0)
	require.Zero(t, e)
	require.EqualValues(t, fuzzBase, at)

}

// entry is a description of code for the seeds.
type entry struct {
	start, size  uint64
	instructions []byte
}

// unwindTables returns an .eh_frame_hdr and the entries, with the augmentation "zR" or "zRS".
func unwindTables(augmentation string, entries ...entry) []byte {
	le := binary.LittleEndian
	const relative = 0x1b // four bytes, signed, relative to the address of the field
	header := 12 + 8*len(entries)
	b := append([]byte{1, relative, 3, 0x3b}, make([]byte, header-4)...)
	le.PutUint32(b[4:], uint32(header-4))
	le.PutUint32(b[8:], uint32(len(entries)))
	common := append(append([]byte{0, 0, 0, 0, 1}, augmentation...), 0, 1, 0x78, 16, 1, relative,
		0x0c, 7, 8, 0x90, 1) // factors 1 and -8; the frame's address is rsp+8, the return address is below it
	b = append(le.AppendUint32(b, uint32(len(common))), common...)
	for i, e := range entries {
		le.PutUint32(b[12+8*i:], uint32(e.start-tables))
		le.PutUint32(b[16+8*i:], uint32(len(b)))
		at := uint64(len(b))
		b = le.AppendUint32(b, uint32(4+4+4+1+len(e.instructions)))
		b = le.AppendUint32(b, uint32(len(b)-header))
		b = le.AppendUint32(b, uint32(e.start-(tables+at+8)))
		b = le.AppendUint32(b, uint32(e.size))
		b = append(append(b, 0), e.instructions...)
	}
	return b
}

// words returns a stack.
func words(list ...uint64) (b []byte) {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// FuzzUnwind unwinds hostile stacks by hostile tables. The work is limited, the result is the same
// each time, and the stack pointer grows: but for signal frames, no frame is reached twice.
func FuzzUnwind(f *testing.F) {
	fuzzMemory(f)
	memory := target.Memory{PID: os.Getpid()}
	plain := unwindTables("zR", entry{text, 0x100, nil}, entry{text + 0x100, 0x100, []byte{0x07, 16}})
	f.Add(plain, words(text+0x20, text+0x110), uint16(0x10), uint16(0))
	f.Add(plain, words(text+0x20, 1), uint16(0x10), uint16(0))
	f.Add(unwindTables("zRS", entry{text, 0x100, nil}), words(text+0x20, text+0x20), uint16(0x10), uint16(0))
	f.Add(unwindTables("zR", // the frame's address is *(rsp+8)+16; the return address is there
		entry{text, 0x100, []byte{0x0f, 5, 0x77, 8, 0x06, 0x23, 16, 0x16, 16, 1, 0x12}}),
		words(0, stack+8, 0, 0), uint16(0x10), uint16(0))
	f.Add(plain[:20], words(0, 0), uint16(0x10), uint16(8))
	f.Add([]byte{}, words(stack+16, text, stack+32, text), uint16(0x4000), uint16(0))
	f.Fuzz(func(t *testing.T, table, onStack []byte, pcOffset, rbpOffset uint16) {
		all := make([]byte, fuzzEnd-fuzzBase)
		copy(all[:text-tables], table)
		copy(all[stack-tables:], onStack)
		require.NoError(t, memory.Write(fuzzBase, all))
		module := &target.Module{Base: fuzzBase, Unwind: tables, Code: []target.Range{{Start: text, End: stack}}}
		regs := Registers{rsp: stack, rbp: stack + uint64(rbpOffset), pc: text + uint64(pcOffset)}
		unwind := func() ([]Frame, bool, uint64) {
			u := Unwinder{Memory: memory, Modules: []*target.Module{module}}
			return u.Stack(regs)
		}
		frames, complete, rest := unwind()
		assert.LessOrEqual(t, len(frames), maxFrames)
		signals := 0
		for i, f := range frames {
			assert.GreaterOrEqual(t, f.PC, uint64(lowest))
			assert.Contains(t, []uint64{f.PC, f.PC - 1}, f.Call)
			assert.True(t, i > 0 || f.Call == f.PC, "the innermost frame was not called")
			if f.Module != nil {
				assert.True(t, f.Module.HasCode(f.Call))
			}
			if f.Signal {
				signals++
			}
		}
		if signals == 0 && len(frames) > 2 { // each frame but the innermost is at least a word
			assert.GreaterOrEqual(t, rest-regs[rsp], uint64(len(frames)-2))
		}
		again, completeAgain, restAgain := unwind()
		assert.Equal(t, frames, again)
		assert.Equal(t, complete, completeAgain)
		assert.Equal(t, rest, restAgain)
	})
}

// TestTables unwinds a stack of two functions, of which the second one has no caller.
func TestTables(t *testing.T) {
	fuzzMemory(t)
	memory := target.Memory{PID: os.Getpid()}
	table := unwindTables("zR", entry{text, 0x100, nil}, entry{text + 0x100, 0x100, []byte{0x07, 16}})
	require.NoError(t, memory.Write(tables, table))
	require.NoError(t, memory.Write(stack, words(text+0x120)))
	module := &target.Module{Unwind: tables, Code: []target.Range{{Start: text, End: stack}}}
	u := Unwinder{Memory: memory, Modules: []*target.Module{module}}
	inner := Registers{rsp: stack, pc: text + 0x10}
	outer := Registers{rsp: stack + 8, pc: text + 0x120}
	frames, complete, rest := u.Stack(inner)
	assert.Equal(t, []Frame{
		{PC: text + 0x10, Call: text + 0x10, SP: stack, CFA: stack + 8, Registers: inner, Module: module},
		{PC: text + 0x120, Call: text + 0x11f, SP: stack + 8, Registers: outer, Module: module},
	}, frames)
	assert.True(t, complete)
	assert.EqualValues(t, stack+8, rest)
}
