package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"math"
	"slices"
)

// Symbol is a symbol of code, or of data (see AllSymbols).
type Symbol struct {
	Addr, Size uint64
	name       uint32
	file       uint32 // name of the source file; only local symbols have one
	limit      uint64 // end of its section, for symbols without a size
}

// SymbolTable names addresses by .symtab or, if the file is stripped, by .dynsym and
// .gnu_debugdata.
type SymbolTable struct {
	symbols []Symbol // sorted by address; one per address
	aliases []Symbol // all, sorted by address; at each address, the one in symbols is the last
	names   []byte
	// exports is the offset in names where the names of .dynsym begin.
	exports int
	within  elf.SectionFlag // symbols of sections without this flag are ignored
}

// symbolSize is the size of an Elf64_Sym.
const symbolSize = 24

// Symbols reads the symbol table. The table is never nil. If there is an error, it may lack
// symbols.
//
// Without .symtab, the table has the symbols of .dynsym and .gnu_debugdata, which complement each
// other.
func (f *File) Symbols() (*SymbolTable, error) { return f.symbols(elf.SHF_EXECINSTR) }

// AllSymbols reads the symbols of code and data. llvm-symbolizer prints the symbol of a variable
// for its address.
func (f *File) AllSymbols() (*SymbolTable, error) { return f.symbols(elf.SHF_ALLOC) }

// ThreadLocals reads the symbols of thread-local variables. Their addresses are offsets in the PT_TLS segment.
func (f *File) ThreadLocals() (*SymbolTable, error) { return f.symbols(elf.SHF_TLS) }

func (f *File) symbols(within elf.SectionFlag) (*SymbolTable, error) {
	t := &SymbolTable{within: within}
	if f.Has(".symtab") {
		err := t.add(f, ".symtab", ".strtab")
		t.exports = len(t.names)
		t.index()
		return t, err
	}
	mini, err := f.miniDebugInfo()
	if mini != nil {
		err = t.add(mini, ".symtab", ".strtab")
	}
	t.exports = len(t.names)
	if fault := t.add(f, ".dynsym", ".dynstr"); err == nil {
		err = fault
	}
	t.index()
	return t, err
}

// add reads the symbols of a section, if it exists. The caller calls index afterwards.
func (t *SymbolTable) add(f *File, table, strings string) error {
	if !f.Has(table) {
		return nil
	}
	raw, err := f.Section(table)
	if err != nil {
		return err
	}
	names, err := f.Section(strings)
	if err != nil {
		return err
	}
	if len(t.names)+len(names) > math.MaxUint32 {
		return f.fault(strings, "its %d bytes exceed the 4 GiB of a string table", len(names))
	}
	first := len(t.names)
	if first == 0 {
		t.names = names // not copied, because it may be mapped
	} else {
		t.names = append(t.names[:first:first], names...)
	}
	t.read(raw, f.sections, uint32(first))
	return nil
}

// dynamic reports whether a symbol is in .dynsym.
func (t *SymbolTable) dynamic(s Symbol) bool { return int(s.name) >= t.exports }

// read reads the symbols of a table. Their names begin at an offset of t.names.
func (t *SymbolTable) read(raw []byte, sections []elf.SectionHeader, names uint32) {
	var file uint32 // local symbols follow the STT_FILE symbol of their source file
	nameOf := func(raw []byte) uint32 {
		return uint32(min(uint64(names)+uint64(binary.LittleEndian.Uint32(raw)), math.MaxUint32))
	}
	for ; len(raw) >= symbolSize; raw = raw[symbolSize:] {
		kind := elf.ST_TYPE(raw[4])
		index := binary.LittleEndian.Uint16(raw[6:])
		if kind == elf.STT_FILE {
			file = nameOf(raw)
		}
		if !t.wants(kind) || index == uint16(elf.SHN_UNDEF) || int(index) >= len(sections) {
			continue
		}
		section := sections[index]
		if section.Flags&t.within == 0 {
			continue
		}
		s := Symbol{
			name:  nameOf(raw),
			Addr:  binary.LittleEndian.Uint64(raw[8:]),
			Size:  binary.LittleEndian.Uint64(raw[16:]),
			limit: section.Addr + section.Size,
		}
		if t.within == elf.SHF_TLS {
			s.limit = 0 // not an address
		}
		if elf.ST_BIND(raw[4]) == elf.STB_LOCAL {
			s.file = file
		}
		if kind == elf.STT_NOTYPE && isMappingSymbol(t.text(s.name)) {
			continue
		}
		t.aliases = append(t.aliases, s)
	}
}

// index sorts the aliases by address. Of the symbols at an address, it selects the largest or, if
// several are equally large, the last.
func (t *SymbolTable) index() {
	slices.SortStableFunc(t.aliases, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Size, b.Size))
	})
	t.symbols = nil
	for i, s := range t.aliases {
		if i+1 == len(t.aliases) || t.aliases[i+1].Addr != s.Addr {
			t.symbols = append(t.symbols, s)
		}
	}
}

// wants reports whether the table has symbols of a type.
func (t *SymbolTable) wants(kind elf.SymType) bool {
	if t.within == elf.SHF_TLS {
		return kind == elf.STT_TLS
	}
	return namesCode(kind)
}

// namesCode reports whether symbols of a type may name code.
func namesCode(t elf.SymType) bool {
	return t == elf.STT_FUNC || t == elf.STT_GNU_IFUNC || t == elf.STT_NOTYPE || t == elf.STT_OBJECT
}

// isMappingSymbol reports whether a symbol is a mark of the arm64 assembler, such as $x and $d.17
// (ELF for the Arm 64-bit architecture, "Mapping symbols").
func isMappingSymbol(name string) bool {
	return name == "" || (len(name) >= 2 && name[0] == '$' && (len(name) == 2 || name[2] == '.'))
}

// text returns the string at an offset of names.
func (t *SymbolTable) text(off uint32) string {
	if uint64(off) >= uint64(len(t.names)) {
		return ""
	}
	b := t.names[off:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// Len returns the number of addresses with a symbol.
func (t *SymbolTable) Len() int { return len(t.symbols) }

// before returns the index of the last symbol that starts at or before an address, or -1.
func (t *SymbolTable) before(addr uint64) int {
	i, ok := slices.BinarySearchFunc(t.symbols, addr, func(s Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	if ok {
		return i
	}
	return i - 1
}

// Match is the symbol at an address.
type Match struct {
	Name string
	// File is the name of the source file. Only local symbols have one.
	File  string
	Start uint64
	// Dynamic means that the symbol is in .dynsym, which has only exported functions.
	Dynamic bool
}

// Find returns the symbol that holds an address. A symbol without a size ends at the next symbol or
// at the end of its section.
//
// If several symbols start at the same address, Find returns the one with the name prefer, which is
// the name in the debug information. Without such a symbol, it returns the largest one and, of
// equally large ones, the last in the table, as llvm-symbolizer does.
func (t *SymbolTable) Find(addr uint64, prefer string) (Match, bool) {
	i := t.before(addr)
	if i < 0 {
		return Match{}, false
	}
	s := t.symbols[i]
	if (s.Size != 0 && addr-s.Addr >= s.Size) || (s.Size == 0 && addr >= s.limit) {
		return Match{}, false
	}
	if prefer != "" {
		if alias, ok := t.alias(s.Addr, prefer); ok {
			return Match{Name: prefer, Start: s.Addr, Dynamic: t.dynamic(alias)}, true
		}
	}
	return Match{Name: t.text(s.name), File: t.text(s.file), Start: s.Addr, Dynamic: t.dynamic(s)}, true
}

// alias returns the symbol with a name that starts at an address.
func (t *SymbolTable) alias(addr uint64, name string) (Symbol, bool) {
	i, _ := slices.BinarySearchFunc(t.aliases, addr, func(s Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	for ; i < len(t.aliases) && t.aliases[i].Addr == addr; i++ {
		if t.text(t.aliases[i].name) == name {
			return t.aliases[i], true
		}
	}
	return Symbol{}, false
}

// maxNear is the largest distance from a symbol to an address that it is a hint for. Functions of one
// source file are that close. A stripped program exports few functions, and the one before an address may
// have nothing to do with it: gdb and llvm-symbolizer name none.
const maxNear = 4 << 10

// Near returns the last symbol that starts at or before an address, within maxNear bytes and in the same
// section, even if the symbol ends before the address. It is a hint for the reader of a message.
func (t *SymbolTable) Near(addr uint64) (name string, distance uint64, ok bool) {
	i := t.before(addr)
	if i < 0 {
		return "", 0, false
	}
	s := t.symbols[i]
	if addr-s.Addr > maxNear || addr >= s.limit {
		return "", 0, false
	}
	return t.text(s.name), addr - s.Addr, true
}
