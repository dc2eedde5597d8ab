package elffile

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rela returns an Elf64_Rela.
func rela(slot, symbol uint64, kind uint32, addend uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, slot)
	b = binary.LittleEndian.AppendUint64(b, symbol<<32|uint64(kind))
	return binary.LittleEndian.AppendUint64(b, addend)
}

// pltFile returns a file with .plt at 0x1000. Its relocations refer to the symbols 1, 2, … of
// .dynsym, which have these names.
func pltFile(code, relocations []byte, names ...string) []section {
	var symbols []symbol
	for _, n := range names {
		symbols = append(symbols, symbol{n, 0, 0, elf.STT_FUNC, elf.STB_GLOBAL, elf.SHN_UNDEF})
	}
	tables := symbolSections(".dynsym", ".dynstr", elf.SHT_DYNSYM, symbols)
	tables[0].link = 4
	return []section{
		{name: ".plt", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, addr: 0x1000, data: code},
		{name: ".rela.plt", kind: elf.SHT_RELA, flags: elf.SHF_ALLOC, data: relocations, link: 3},
		tables[0], tables[1],
	}
}

// jump returns jmp *slot(%rip) at an address, padded to 16 bytes.
func jump(addr, slot uint64) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0xff, 0x25}, uint32(slot-addr-6))
	return append(b, make([]byte, 10)...)
}

func TestStubsBySlot(t *testing.T) {
	code := append(append(make([]byte, 16), jump(0x1010, 0x3000)...), jump(0x1020, 0x3008)...)
	code = append(code, jump(0x1030, 0x3010)...)
	relocations := append(rela(0x3008, 1, uint32(elf.R_X86_64_JMP_SLOT), 0), rela(0x3000, 2, uint32(elf.R_X86_64_GLOB_DAT), 0)...)
	relocations = append(relocations, rela(0x3010, 0, uint32(elf.R_X86_64_IRELATIVE), 0x2222)...)
	f := open(t, pltFile(code, relocations, "free", "malloc")...)
	stubs, err := f.Stubs(&SymbolTable{})
	require.NoError(t, err)
	for addr, want := range map[uint64]string{
		0x1000: "", 0x100f: "", 0x1010: "malloc@plt", 0x101f: "malloc@plt", 0x1020: "free@plt", 0x1030: "*ABS*+0x2222@plt", 0x103f: "*ABS*+0x2222@plt", 0x1040: "",
	} {
		require.Equal(t, want, found(stubs, addr, ""), "0x%x", addr)
		require.Equal(t, addr >= 0x1000 && addr < 0x1040, f.InStubs(addr))
		match, _ := stubs.Find(addr, "")
		require.Empty(t, match.File, "the source file of 0x%x", addr)
	}
}

// TestStubNamesAreLimited: a thousand stubs share one very long name.
func TestStubNamesAreLimited(t *testing.T) {
	var code, relocations []byte
	for i := range uint64(1000) {
		code = append(code, jump(0x1000+16*i, 0x8000+8*i)...)
		relocations = append(relocations, rela(0x8000+8*i, 1, uint32(elf.R_X86_64_JMP_SLOT), 0)...)
	}
	f := open(t, pltFile(code, relocations, strings.Repeat("x", 1<<20))...)
	_, err := f.Stubs(&SymbolTable{})
	require.ErrorContains(t, err, f.Path+": section .rela.plt: the names of stubs up to relocation 0x5e8 are longer than")
}

// FuzzStubs reads any code and relocations. Stubs are within their section, do not overlap, and
// have names that end with @plt.
func FuzzStubs(f *testing.F) {
	f.Add(jump(0x1000, 0x3000), rela(0x3000, 1, uint32(elf.R_X86_64_JMP_SLOT), 0), "free", false)
	f.Add(append([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0xf2}, jump(0x1005, 0x3000)...), rela(0x3000, 0, uint32(elf.R_X86_64_IRELATIVE), 1), "", false)
	f.Add([]byte{0x5f, 0x24, 0x03, 0xd5, 0x10, 1, 0, 0x90, 0x11, 0x8a, 0x42, 0xf9}, rela(0x21510, 1, uint32(elf.R_AARCH64_JUMP_SLOT), 0), "foo", true)
	f.Fuzz(func(t *testing.T, code, relocations []byte, name string, arm bool) {
		file := open(t, pltFile(code, relocations, name)...)
		if arm {
			file.Machine = elf.EM_AARCH64
		}
		stubs, err := file.Stubs(&SymbolTable{})
		require.NoError(t, err)
		end := uint64(0x1000)
		for _, s := range stubs.symbols {
			require.GreaterOrEqual(t, s.Addr, end)
			require.NotZero(t, s.Size)
			end = s.Addr + s.Size
			require.True(t, strings.HasSuffix(stubs.text(s.name), "@plt"))
		}
		require.LessOrEqual(t, end, 0x1000+uint64(len(code)))
	})
}
