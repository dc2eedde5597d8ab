package elffile

import (
	"bytes"
	"debug/elf"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// xzOf compresses data in blocks of a size.
func xzOf(t testing.TB, data []byte, block int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{BlockSize: block}.NewWriter(&b)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// miniFile returns a stripped file that exports `exported` at 0x1000, with a section
// .gnu_debugdata.
func miniFile(debugdata []byte) []section {
	return append(append([]section{code(0x1000, 0x1000)},
		symbolSections(".dynsym", ".dynstr", elf.SHT_DYNSYM, []symbol{fn("exported", 0x1000, 0x10)})...),
		section{name: miniSection, kind: elf.SHT_PROGBITS, data: debugdata})
}

// miniELF returns the ELF file for .gnu_debugdata, with `internal` at 0x1010.
func miniELF() []byte {
	return image(append([]section{code(0x1000, 0x1000)}, symbolSections(".symtab", ".strtab", elf.SHT_SYMTAB, []symbol{fn("internal", 0x1010, 0x10)})...)...)
}

// TestMiniDebugInfo: the table has the functions of .gnu_debugdata and of .dynsym.
func TestMiniDebugInfo(t *testing.T) {
	for _, block := range []int64{1 << 20, 100} {
		table, err := open(t, miniFile(xzOf(t, miniELF(), block))...).Symbols()
		require.NoError(t, err)
		for addr, want := range map[uint64]Match{0x1008: {"exported", "", 0x1000, true}, 0x1018: {"internal", "", 0x1010, false}} {
			got, ok := table.Find(addr, "")
			require.True(t, ok)
			require.Equal(t, want, got)
		}
	}
}

// TestMalformedMiniDebugInfo: an error has path, section and offset. Exported functions keep their
// names.
func TestMalformedMiniDebugInfo(t *testing.T) {
	whole := xzOf(t, miniELF(), 1<<20)
	edited := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	cases := map[string][]byte{
		"at 0x0: not an xz stream":                               []byte("ELF"),
		"at 0xc: a filter other than LZMA2 is not supported":     edited(14, 0x04),
		"at 0xc: the dictionary is larger than 64 MiB":           edited(16, 40),
		"at 0x18: a chunk is malformed or truncated":             edited(24, 0x55),
		"cannot be decompressed":                                 edited(40, whole[40]^1),
		"not a readable ELF file":                                xzOf(t, []byte("text"), 1<<20),
		"section .gnu_debugdata: not a 64-bit little-endian ELF": xzOf(t, []byte("\x7fELF\x01\x01\x01_________"), 1<<20),
	}
	for msg, data := range cases {
		requireFault(t, data, msg)
	}
	const tail = 40 // the index and the footer, which are not read
	for n := 1; n < len(whole)-tail; n++ {
		requireFault(t, whole[:n], "")
	}
}

func requireFault(t *testing.T, debugdata []byte, msg string) {
	t.Helper()
	f := open(t, miniFile(debugdata)...)
	table, err := f.Symbols()
	require.ErrorContains(t, err, f.Path+": section .gnu_debugdata: ")
	require.ErrorContains(t, err, msg)
	require.Equal(t, "exported", found(table, 0x1000, ""))
}

// TestMiniDebugInfoBomb: a stream that is too large is an error before memory is allocated for it.
func TestMiniDebugInfoBomb(t *testing.T) {
	bomb := xzOf(t, make([]byte, 65<<20), 1<<30)
	require.Less(t, len(bomb), 1<<20)
	f := open(t, miniFile(bomb)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f.Symbols()
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "expand to 68157440, more than 67108864")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// FuzzMiniDebugInfo reads any bytes as .gnu_debugdata. Exported functions keep their names, and
// errors name the section.
func FuzzMiniDebugInfo(f *testing.F) {
	f.Add(xzOf(f, miniELF(), 1<<20))
	f.Add(xzOf(f, miniELF(), 100))
	f.Add([]byte("\xfd7zXZ\x00\x00\x04\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := open(t, miniFile(data)...)
		err := file.Guard(func() error {
			table, err := file.Symbols()
			if err != nil {
				require.Equal(t, "exported", found(table, 0x1000, ""))
			}
			return err
		})
		if err != nil {
			require.ErrorContains(t, err, file.Path+": section .gnu_debugdata: ")
		}
	})
}
