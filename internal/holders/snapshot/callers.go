//go:build linux && amd64

package snapshot

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
)

// callers returns the frames of a thread from the first one on that is not in the module of the innermost function. It
// is for a module without call frame information, as musl is: the first word on the stack that is the address
// behind a call in another module is taken for a return address.
func callers(u *unwind.Unwinder, regs unwind.Registers, innermost *target.Module) []unwind.Frame {
	const most = 4 << 10 // from the stack pointer on
	b := make([]byte, most)
	for u.Memory.Read(regs[unwind.SP], b) != nil { // the end of the stack may be near
		if b = b[:len(b)/2&^7]; len(b) == 0 {
			return nil
		}
	}
	for i := 0; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		if m := u.Module(word - 1); m == nil || m == innermost || !followsCall(u.Memory, word) {
			continue
		}
		regs[unwind.PC], regs[unwind.SP] = word-1, regs[unwind.SP]+uint64(i)+8 // within the call
		frames, _, _ := u.Stack(regs)
		for i := range frames {
			frames[i].CFA = 0 // the values of the other registers are not known
		}
		return frames
	}
	return nil
}

// followsCall reports whether the instruction before an address is a call: E8 with 4 bytes, or FF with the
// operation 2 in bits 3 to 5 of the next byte, which has 2 to 7 bytes.
func followsCall(m target.Memory, address uint64) bool {
	const longest = 7
	var b [longest]byte
	if m.Read(address-longest, b[:]) != nil {
		return false
	}
	if b[longest-5] == 0xe8 {
		return true
	}
	for i := range longest - 1 {
		if b[i] == 0xff && b[i+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}
