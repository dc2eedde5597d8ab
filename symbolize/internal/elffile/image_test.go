package elffile

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is a section of an ELF file that a test writes.
type section struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	data  []byte
	link  uint32
	align uint64
}

// code returns an executable section of zeros.
func code(addr, size uint64) section {
	return section{name: ".text", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, addr: addr, data: make([]byte, size)}
}

// image returns an ELF file: header, sections, their names, section headers.
func image(sections ...section) []byte {
	const headerSize, entrySize = 64, 64
	sections = append(append([]section{{}}, sections...), section{name: ".shstrtab", kind: elf.SHT_STRTAB})
	names := []byte{0}
	nameAt := make([]uint32, len(sections))
	for i, s := range sections[1:] {
		nameAt[i+1] = uint32(len(names))
		names = append(append(names, s.name...), 0)
	}
	sections[len(sections)-1].data = names
	out := make([]byte, headerSize)
	var headers []byte
	for i, s := range sections {
		var h [entrySize]byte
		binary.LittleEndian.PutUint32(h[0:], nameAt[i])
		binary.LittleEndian.PutUint32(h[4:], uint32(s.kind))
		binary.LittleEndian.PutUint64(h[8:], uint64(s.flags))
		binary.LittleEndian.PutUint64(h[16:], s.addr)
		binary.LittleEndian.PutUint64(h[24:], uint64(len(out)))
		binary.LittleEndian.PutUint64(h[32:], uint64(len(s.data)))
		binary.LittleEndian.PutUint32(h[40:], s.link)
		binary.LittleEndian.PutUint64(h[48:], s.align)
		if s.kind == elf.SHT_SYMTAB || s.kind == elf.SHT_DYNSYM {
			binary.LittleEndian.PutUint64(h[56:], symbolSize)
		}
		headers = append(headers, h[:]...)
		out = append(out, s.data...)
	}
	copy(out, elf.ELFMAG)
	out[elf.EI_CLASS], out[elf.EI_DATA], out[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	binary.LittleEndian.PutUint16(out[16:], uint16(elf.ET_DYN))
	binary.LittleEndian.PutUint16(out[18:], uint16(elf.EM_X86_64))
	binary.LittleEndian.PutUint32(out[20:], 1)
	binary.LittleEndian.PutUint64(out[40:], uint64(len(out)))
	binary.LittleEndian.PutUint16(out[52:], headerSize)
	binary.LittleEndian.PutUint16(out[58:], entrySize)
	binary.LittleEndian.PutUint16(out[60:], uint16(len(sections)))
	binary.LittleEndian.PutUint16(out[62:], uint16(len(sections)-1))
	return append(out, headers...)
}

// write writes a file and returns its path.
func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// open opens a file with these sections.
func open(t testing.TB, sections ...section) *File {
	t.Helper()
	f, err := Open(write(t, image(sections...)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// symbol is an Elf64_Sym with its name.
type symbol struct {
	name       string
	addr, size uint64
	kind       elf.SymType
	bind       elf.SymBind
	index      elf.SectionIndex
}

// textIndex is the section header index of the first section given to image.
const textIndex = 1

// fn returns a global function in .text.
func fn(name string, addr, size uint64) symbol {
	return symbol{name, addr, size, elf.STT_FUNC, elf.STB_GLOBAL, textIndex}
}

// symbolSections returns a symbol table and its string table. The link of the table is 0, because
// Symbols finds the strings by name.
func symbolSections(table, names string, kind elf.SectionType, symbols []symbol) []section {
	raw, text := make([]byte, symbolSize), []byte{0}
	for _, s := range symbols {
		var e [symbolSize]byte
		binary.LittleEndian.PutUint32(e[0:], uint32(len(text)))
		e[4] = elf.ST_INFO(s.bind, s.kind)
		binary.LittleEndian.PutUint16(e[6:], uint16(s.index))
		binary.LittleEndian.PutUint64(e[8:], s.addr)
		binary.LittleEndian.PutUint64(e[16:], s.size)
		raw = append(raw, e[:]...)
		text = append(append(text, s.name...), 0)
	}
	return []section{{name: table, kind: kind, data: raw}, {name: names, kind: elf.SHT_STRTAB, data: text}}
}

// tableOf returns the symbol table of a file with .text at [0x1000, 0x2000).
func tableOf(t testing.TB, symbols ...symbol) *SymbolTable {
	t.Helper()
	f := open(t, append([]section{code(0x1000, 0x1000)}, symbolSections(".symtab", ".strtab", elf.SHT_SYMTAB, symbols)...)...)
	table, err := f.Symbols()
	require.NoError(t, err)
	return table
}
