package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// A stub of the procedure linkage table (PLT) is a few instructions that jump to the address in a
// slot of the global offset table (GOT). The relocation of the slot names the function. It is in
// .rela.plt for stubs in .plt and .plt.sec, and in .rela.dyn for stubs in .plt.got.
//
// Sources: System V psABI of x86-64, section 5.2 and "IBT-enabled PLT"; ELF for the Arm 64-bit
// architecture; the instructions that binutils, gold and lld write.

// stub is the address of a stub, and of the slot that it reads.
type stub struct{ addr, slot uint64 }

// stubForm describes the stubs of an architecture.
type stubForm struct {
	step    uint64 // stubs are at multiples of step from the start of the section
	longest uint64 // maximum size of a stub, in bytes
	// decode returns the slot that the instructions at an address use.
	decode func(code []byte, addr uint64) (slot uint64, ok bool)
	// jumpSlot, globDat and irelative are the types of relocations of functions.
	jumpSlot, globDat, irelative uint32
}

var (
	stubsX86 = stubForm{
		8,
		16,
		stubX86,
		uint32(elf.R_X86_64_JMP_SLOT),
		uint32(elf.R_X86_64_GLOB_DAT),
		uint32(elf.R_X86_64_IRELATIVE),
	}
	stubsArm64 = stubForm{
		8,
		24,
		stubArm64,
		uint32(elf.R_AARCH64_JUMP_SLOT),
		uint32(elf.R_AARCH64_GLOB_DAT),
		uint32(elf.R_AARCH64_IRELATIVE),
	}
)

// stubX86 decodes jmp *disp(%rip), which may follow endbr64 and may have the prefix bnd.
func stubX86(code []byte, addr uint64) (slot uint64, ok bool) {
	skip := 0
	if len(code) >= 4 && binary.LittleEndian.Uint32(code) == 0xfa1e0ff3 { // endbr64
		skip = 4
	}
	if len(code) > skip && code[skip] == 0xf2 { // bnd
		skip++
	}
	if len(code) < skip+6 || code[skip] != 0xff || code[skip+1] != 0x25 {
		return 0, false
	}
	disp := int32(binary.LittleEndian.Uint32(code[skip+2:]))
	return addr + uint64(skip) + 6 + uint64(int64(disp)), true
}

// stubArm64 decodes adrp x16, page; ldr x17, [x16, #offset], which may follow bti c.
func stubArm64(code []byte, addr uint64) (slot uint64, ok bool) {
	const btiC = 0xd503245f
	if len(code) >= 4 && binary.LittleEndian.Uint32(code) == btiC {
		code, addr = code[4:], addr+4
	}
	if len(code) < 8 {
		return 0, false
	}
	adrp, ldr := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
	if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
		return 0, false
	}
	page := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3)
	return addr&^0xfff + uint64(page<<12) + uint64(ldr>>10&0xfff)*8, true
}

// isStubSection reports whether a section contains stubs.
func isStubSection(s *elf.SectionHeader) bool {
	return s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 &&
		(s.Name == ".plt" || strings.HasPrefix(s.Name, ".plt.") || s.Name == ".iplt")
}

// InStubs reports whether an address is in a section of PLT stubs.
func (f *File) InStubs(addr uint64) bool {
	for i := range f.sections {
		s := &f.sections[i]
		if addr >= s.Addr && addr-s.Addr < s.Size && isStubSection(s) {
			return true
		}
	}
	return false
}

// Stubs names the PLT stubs of a file as binutils does: malloc@plt. The relocation of a function
// that is chosen at start (IFUNC) has no symbol, but the address of the resolver. The stub is named
// after the symbol in functions at this address, or else *ABS*+0x1234@plt. The table is empty for
// architectures other than x86-64 and arm64.
func (f *File) Stubs(functions *SymbolTable) (*SymbolTable, error) {
	t := &SymbolTable{names: []byte{0}} // at 0 is "", the source file of stubs
	var form stubForm
	switch f.Machine {
	case elf.EM_X86_64:
		form = stubsX86
	case elf.EM_AARCH64:
		form = stubsArm64
	default:
		return t, nil
	}
	r := stubReader{file: f, form: form, functions: functions, table: t, slots: map[uint64][]int{}}
	if err := r.decode(); err != nil {
		return t, err
	}
	for i := range f.sections {
		if s := &f.sections[i]; s.Type == elf.SHT_RELA && len(r.slots) > 0 {
			if err := r.relocations(s); err != nil {
				return t, err
			}
		}
	}
	t.index()
	return t, nil
}

// stubReader builds the table that Stubs returns.
type stubReader struct {
	file      *File
	form      stubForm
	functions *SymbolTable
	table     *SymbolTable
	stubs     []stub
	ends      []uint64         // by stub
	slots     map[uint64][]int // by slot: its stubs; linkers make one in .plt and one in .plt.got
}

// decode finds all stubs. A stub ends where the next one starts.
func (r *stubReader) decode() error {
	for i := range r.file.sections {
		s := &r.file.sections[i]
		if !isStubSection(s) {
			continue
		}
		code := r.file.bytesAt(s.Offset, s.FileSize)
		if code == nil {
			return r.file.fault(s.Name, "is outside the file: is the file truncated?")
		}
		first := len(r.stubs)
		for off := uint64(0); off < uint64(len(code)); off += r.form.step {
			if slot, ok := r.form.decode(code[off:], s.Addr+off); ok {
				r.stubs = append(r.stubs, stub{s.Addr + off, slot})
			}
		}
		for k := first; k < len(r.stubs); k++ {
			end := min(r.stubs[k].addr+r.form.longest, s.Addr+s.Size)
			if k+1 < len(r.stubs) {
				end = min(end, r.stubs[k+1].addr)
			}
			r.ends = append(r.ends, end)
			r.slots[r.stubs[k].slot] = append(r.slots[r.stubs[k].slot], k)
		}
	}
	return nil
}

// relaSize is the size of an Elf64_Rela.
const relaSize = 24

// maxStubNames limits the names of a file's stubs, in bytes. The largest programs have a few
// megabytes.
const maxStubNames = 1 << 26

// relocations names the stubs whose slots have relocations in a section.
func (r *stubReader) relocations(s *elf.SectionHeader) error {
	raw := r.file.bytesAt(s.Offset, s.FileSize)
	for off := 0; off+relaSize <= len(raw); off += relaSize {
		slot, info := binary.LittleEndian.Uint64(raw[off:]), binary.LittleEndian.Uint64(raw[off+8:])
		stubs := r.slots[slot]
		if len(stubs) == 0 {
			continue
		}
		name := r.target(s, info, binary.LittleEndian.Uint64(raw[off+16:]))
		if name == "" {
			continue
		}
		delete(r.slots, slot) // the first relocation of a slot wins
		for _, k := range stubs {
			if len(r.table.names)+len(name) > maxStubNames {
				return r.file.fault(s.Name, "the names of stubs up to relocation 0x%x are longer than %d bytes", off, maxStubNames)
			}
			r.add(k, name+"@plt")
		}
	}
	return nil
}

func (r *stubReader) add(k int, name string) {
	addr := r.stubs[k].addr
	r.table.aliases = append(r.table.aliases, Symbol{Addr: addr, Size: r.ends[k] - addr, name: uint32(len(r.table.names))})
	r.table.names = append(append(r.table.names, name...), 0)
}

// target returns the name of the function of a relocation, or "" if it is a relocation of another
// kind.
func (r *stubReader) target(s *elf.SectionHeader, info, addend uint64) string {
	switch uint32(info) {
	case r.form.irelative:
		if m, ok := r.functions.Find(addend, ""); ok && m.Start == addend {
			name, _, _ := strings.Cut(m.Name, "@") // without a version, as in memcpy@@GLIBC_2.14
			return name
		}
		return fmt.Sprintf("*ABS*+0x%x", addend)
	case r.form.jumpSlot, r.form.globDat:
		return r.file.symbolName(s.Link, info>>32)
	}
	return ""
}

// symbolName returns the name of a symbol, given the section index of its table and its index
// there.
func (f *File) symbolName(section uint32, index uint64) string {
	if uint64(section) >= uint64(len(f.sections)) {
		return ""
	}
	table := &f.sections[section]
	raw := f.bytesAt(table.Offset, table.FileSize)
	if table.Type == elf.SHT_NOBITS || uint64(table.Link) >= uint64(len(f.sections)) ||
		index >= uint64(len(raw))/symbolSize {
		return ""
	}
	strings := &f.sections[table.Link]
	if strings.Type != elf.SHT_STRTAB {
		return ""
	}
	names := SymbolTable{names: f.bytesAt(strings.Offset, strings.FileSize)}
	return names.text(binary.LittleEndian.Uint32(raw[index*symbolSize:]))
}
