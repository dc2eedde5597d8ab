package elffile

import (
	"debug/elf"

	"github.com/heaplapse/heaplapse/internal/callsite"
)

// EndsInCall reports whether the bytes before an ELF address end in a call instruction. known is
// false if the file has no code there, or code of an unsupported architecture.
func (f *File) EndsInCall(addr uint64) (found, known bool) {
	if addr < callsite.Size {
		return false, false
	}
	b := f.At(addr-callsite.Size, callsite.Size)
	if b == nil {
		return false, false
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return callsite.X86([callsite.Size]byte(b)), true
	case elf.EM_AARCH64:
		w := uint32(b[3]) | uint32(b[4])<<8 | uint32(b[5])<<16 | uint32(b[6])<<24
		const bl, blr, blra = 0x94000000, 0xd63f0000, 0xd73f0800
		return w&0xfc000000 == bl || w&0xfffffc1f == blr || w&0xfffff800 == blra || w&0xfffff800 == 0xd63f0800, true
	}
	return false, false
}
