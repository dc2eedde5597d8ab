package elffile

import (
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"
)

// found returns the name at an address, or "".
func found(table *SymbolTable, addr uint64, prefer string) string {
	m, ok := table.Find(addr, prefer)
	if !ok {
		return ""
	}
	return m.Name
}

func TestSymbolSizesAreRespected(t *testing.T) {
	table := tableOf(t, fn("f", 0x1000, 0x10), fn("g", 0x1020, 0x10))
	for addr := uint64(0xff0); addr < 0x1050; addr++ {
		want := ""
		switch {
		case addr >= 0x1000 && addr < 0x1010:
			want = "f"
		case addr >= 0x1020 && addr < 0x1030:
			want = "g"
		}
		require.Equal(t, want, found(table, addr, ""), "0x%x", addr)
		require.Equal(t, want, found(table, addr, "no such alias"), "0x%x", addr)
	}
}

func TestSymbolsWithoutSizeEndAtTheNextOne(t *testing.T) {
	table := tableOf(t, fn("start", 0x1000, 0), fn("next", 0x1100, 0x10), fn("last", 0x1200, 0))
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "start", 0x10ff: "start", 0x1100: "next", 0x1110: "", 0x1200: "last", 0x1fff: "last", 0x2000: "",
	} {
		require.Equal(t, want, found(table, addr, ""), "0x%x", addr)
	}
}

func TestAliases(t *testing.T) {
	table := tableOf(t, fn("C2", 0x1000, 0x10), fn("C1", 0x1000, 0x10), fn("short", 0x1000, 4), fn("empty", 0x1000, 0))
	require.Equal(t, "C1", found(table, 0x1004, ""), "the largest; of equally large ones, the last in the table")
	require.Equal(t, "C2", found(table, 0x1004, "C2"))
	require.Equal(t, "short", found(table, 0x1008, "short"), "the preferred name, although only the largest symbol holds the address")
	require.Equal(t, "C1", found(table, 0x1004, "C3"))
	require.Equal(t, 1, table.Len())
	require.Empty(t, found(table, 0x1010, "C2"), "past the end of all symbols")
}

func TestIgnoredSymbols(t *testing.T) {
	data := section{name: ".data", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_WRITE, addr: 0x3000, data: make([]byte, 0x100)}
	symbols := symbolSections(".symtab", ".strtab", elf.SHT_SYMTAB, []symbol{
		{"undefined", 0x1000, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, elf.SHN_UNDEF},
		{"absolute", 0x1010, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, elf.SHN_ABS},
		{"variable", 0x3000, 0x10, elf.STT_OBJECT, elf.STB_GLOBAL, 2},
		{"tls", 0x1020, 0x10, elf.STT_TLS, elf.STB_GLOBAL, textIndex},
		{"section", 0x1030, 0x10, elf.STT_SECTION, elf.STB_LOCAL, textIndex},
		{"$x", 0x1040, 0, elf.STT_NOTYPE, elf.STB_LOCAL, textIndex},
		{"$d.17", 0x1050, 0, elf.STT_NOTYPE, elf.STB_LOCAL, textIndex},
		{"beyond", 0x1060, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, 77},
		{"ifunc", 0x1070, 0x10, elf.STT_GNU_IFUNC, elf.STB_GLOBAL, textIndex},
		{"$xyz", 0x1080, 0x10, elf.STT_NOTYPE, elf.STB_LOCAL, textIndex},
	})
	f := open(t, append([]section{code(0x1000, 0x1000), data}, symbols...)...)
	table, err := f.Symbols()
	require.NoError(t, err)
	require.Equal(t, 2, table.Len())
	require.Equal(t, "ifunc", found(table, 0x1070, ""))
	require.Equal(t, "$xyz", found(table, 0x1080, ""), "a label is not a mapping symbol")
}

func TestLocalSymbolsHaveASourceFile(t *testing.T) {
	file := func(name string) symbol { return symbol{name, 0, 0, elf.STT_FILE, elf.STB_LOCAL, elf.SHN_ABS} }
	local := func(name string, addr uint64) symbol {
		return symbol{name, addr, 8, elf.STT_FUNC, elf.STB_LOCAL, textIndex}
	}
	table := tableOf(t, file("a.c"), local("f", 0x1000), file("b.c"), local("g", 0x1010), fn("h", 0x1020, 8))
	for addr, want := range map[uint64]Match{
		0x1003: {"f", "a.c", 0x1000, false}, 0x1013: {"g", "b.c", 0x1010, false}, 0x1023: {"h", "", 0x1020, false},
	} {
		m, ok := table.Find(addr, "")
		require.True(t, ok)
		require.Equal(t, want, m)
	}
}

// TestDynamicSymbols: .dynsym is used only if there is no .symtab.
func TestDynamicSymbols(t *testing.T) {
	dynamic := symbolSections(".dynsym", ".dynstr", elf.SHT_DYNSYM, []symbol{fn("exported", 0x1000, 0x10)})
	full := symbolSections(".symtab", ".strtab", elf.SHT_SYMTAB, []symbol{fn("static", 0x1010, 0x10)})
	stripped, err := open(t, append([]section{code(0x1000, 0x1000)}, dynamic...)...).Symbols()
	require.NoError(t, err)
	m, ok := stripped.Find(0x1000, "")
	require.True(t, ok)
	require.Equal(t, Match{"exported", "", 0x1000, true}, m)
	both, err := open(t, append(append([]section{code(0x1000, 0x1000)}, dynamic...), full...)...).Symbols()
	require.NoError(t, err)
	require.Empty(t, found(both, 0x1000, ""))
	m, ok = both.Find(0x1010, "")
	require.True(t, ok)
	require.Equal(t, Match{"static", "", 0x1010, false}, m)
	none, err := open(t, code(0x1000, 0x1000)).Symbols()
	require.NoError(t, err)
	require.Zero(t, none.Len())
	require.Empty(t, found(none, 0x1000, ""))
}

// TestNear: the symbol before an address, if it is close and in the same section.
func TestNear(t *testing.T) {
	table := tableOf(t, fn("f", 0x1000, 0x10), fn("g", 0x1100, 0x10))
	name, distance, ok := table.Near(0x10ff)
	require.True(t, ok)
	require.Equal(t, "f", name)
	require.Equal(t, uint64(0xff), distance)
	_, _, ok = table.Near(0xfff)
	require.False(t, ok)
	_, _, ok = table.Near(0x2000)
	require.False(t, ok, "after the section")

	large := append([]section{code(0x1000, 0x10000)}, symbolSections(".dynsym", ".dynstr", elf.SHT_DYNSYM, []symbol{fn("f", 0x1000, 0x10)})...)
	stripped, err := open(t, large...).Symbols()
	require.NoError(t, err)
	_, _, ok = stripped.Near(0x1000 + maxNear)
	require.True(t, ok)
	_, _, ok = stripped.Near(0x1001 + maxNear)
	require.False(t, ok, "an unrelated function")
}

// TestSymbolNamesOutsideOfTheStringTable: such a name is empty.
func TestSymbolNamesOutsideOfTheStringTable(t *testing.T) {
	sections := symbolSections(".symtab", ".strtab", elf.SHT_SYMTAB, []symbol{fn("f", 0x1000, 0x10)})
	sections[1].data = sections[1].data[:1]
	table, err := open(t, append([]section{code(0x1000, 0x1000)}, sections...)...).Symbols()
	require.NoError(t, err)
	require.Empty(t, found(table, 0x1000, ""))
}
