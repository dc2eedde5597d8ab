package encoding_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

var shape4 = encoding.Shape{Version: 4, AddrSize: 8}

func TestAbbreviationCodes(t *testing.T) {
	section := dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true).
		Abbreviation(2, encoding.TagSubprogram, false).
		Abbreviation(9, encoding.TagInlined, false).
		Abbreviation(1<<40, encoding.TagNamespace, true).
		Uleb(0)
	table, err := encoding.ParseTable(section, 0, shape4)
	require.NoError(t, err)
	for code, want := range map[uint64]encoding.Tag{1: encoding.TagCompileUnit, 2: encoding.TagSubprogram, 9: encoding.TagInlined, 1 << 40: encoding.TagNamespace} {
		require.Equal(t, want, table.Get(code).Tag, "code %d", code)
	}
	for _, code := range []uint64{0, 3, 8, 10, 1<<64 - 1} {
		require.Nil(t, table.Get(code), "code %d", code)
	}
	require.True(t, table.Get(1).Children)
	require.False(t, table.Get(2).Children)
}

func TestMalformedAbbreviations(t *testing.T) {
	whole := dwarftest.Bytes{}.Abbreviation(1, encoding.TagSubprogram, true, dwarftest.Attr(encoding.AttrName, encoding.FormString)).Uleb(0)
	for n := range whole {
		table, err := encoding.ParseTable(whole[:n], 0, shape4)
		require.Error(t, err, "%d of %d bytes", n, len(whole))
		require.Nil(t, table)
	}
	_, err := encoding.ParseTable(whole, uint64(len(whole))+1, shape4)
	require.ErrorContains(t, err, ".debug_abbrev+0x")
	many := dwarftest.Bytes{}.Uleb(1, uint64(encoding.TagSubprogram)).U8(0)
	for range 2000 {
		many = many.Uleb(uint64(encoding.AttrName), uint64(encoding.FormString))
	}
	_, err = encoding.ParseTable(many.Uleb(0, 0, 0), 0, shape4)
	require.ErrorContains(t, err, "malformed abbreviation")
}

// encodedForms returns one value of each form (DWARF 5 section 7.5.6).
func encodedForms(s encoding.Shape) map[encoding.Form]dwarftest.Bytes {
	word := dwarftest.Bytes{}.U32(7)
	if s.Is64 {
		word = dwarftest.Bytes{}.U64(7)
	}
	address := dwarftest.Bytes{7}.U8(make([]byte, s.AddrSize-1)...)
	refAddr := word
	if s.Version <= 2 {
		refAddr = address
	}
	out := map[encoding.Form]dwarftest.Bytes{
		encoding.FormAddr: address, encoding.FormRefAddr: refAddr, encoding.FormString: dwarftest.Bytes{}.Str("text"),
		encoding.FormBlock1: dwarftest.Bytes{2, 0, 0}, encoding.FormBlock2: dwarftest.Bytes{2, 0, 0, 0},
		encoding.FormBlock4: dwarftest.Bytes{2, 0, 0, 0, 0, 0},
		encoding.FormBlock:  dwarftest.Bytes{2, 0, 0}, encoding.FormExprloc: dwarftest.Bytes{2, 0, 0},
		encoding.FormFlagPresent: {}, encoding.FormImplicit: {}, encoding.FormFlag: dwarftest.Bytes{1},
		encoding.FormSdata: dwarftest.Bytes{}.Sleb(-300), encoding.FormData16: make(dwarftest.Bytes, 16),
		encoding.FormIndirect: dwarftest.Bytes{}.Uleb(uint64(encoding.FormData2)).U16(7),
	}
	for _, f := range []encoding.Form{encoding.FormData1, encoding.FormRef1, encoding.FormStrx1, encoding.FormAddrx1} {
		out[f] = dwarftest.Bytes{7}
	}
	for _, f := range []encoding.Form{encoding.FormData2, encoding.FormRef2, encoding.FormStrx2, encoding.FormAddrx2} {
		out[f] = dwarftest.Bytes{}.U16(7)
	}
	for _, f := range []encoding.Form{encoding.FormStrx3, encoding.FormAddrx3} {
		out[f] = dwarftest.Bytes{7, 0, 0}
	}
	for _, f := range []encoding.Form{encoding.FormData4, encoding.FormRef4, encoding.FormStrx4,
		encoding.FormAddrx4, encoding.FormRefSup4} {
		out[f] = dwarftest.Bytes{}.U32(7)
	}
	for _, f := range []encoding.Form{encoding.FormData8, encoding.FormRef8, encoding.FormRefSig8,
		encoding.FormRefSup8} {
		out[f] = dwarftest.Bytes{}.U64(7)
	}
	for _, f := range []encoding.Form{encoding.FormUdata, encoding.FormRefUdata, encoding.FormStrx,
		encoding.FormAddrx, encoding.FormLoclistx, encoding.FormRnglistx, encoding.FormGNUAddrIndex,
		encoding.FormGNUStrIndex} {
		out[f] = dwarftest.Bytes{}.Uleb(300)
	}
	for _, f := range []encoding.Form{encoding.FormStrp, encoding.FormSecOffset, encoding.FormLineStrp,
		encoding.FormStrpSup, encoding.FormGNURefAlt, encoding.FormGNUStrpAlt} {
		out[f] = word
	}
	return out
}

// TestReadAndSkipEndAtTheSameOffset reads and skips a value of each form, and truncated values.
func TestReadAndSkipEndAtTheSameOffset(t *testing.T) {
	for _, s := range []encoding.Shape{
		{Version: 2, AddrSize: 8}, {Version: 2, AddrSize: 4}, {Version: 4, AddrSize: 8, Is64: true},
		{Version: 5, AddrSize: 4}, {Version: 5, AddrSize: 8, Is64: true},
	} {
		for f, encoded := range encodedForms(s) {
			t.Run(fmt.Sprintf("%+v/form-%#x", s, f), func(t *testing.T) {
				c := encoding.Cursor{Data: encoded}
				s.Read(&c, f, 0)
				require.False(t, c.Failed)
				require.Equal(t, len(encoded), int(c.Off))
				for _, name := range []encoding.Attr{encoding.AttrName, 0x3fff} { // kept, and skipped
					requireEntrySize(t, s, name, f, encoded)
				}
				for n := range encoded {
					short := encoding.Cursor{Data: encoded[:n]}
					s.Read(&short, f, 0)
					require.True(t, short.Failed, "%d of %d bytes", n, len(encoded))
				}
			})
		}
	}
}

// requireEntrySize reads and skips an entry with one attribute.
func requireEntrySize(t *testing.T, s encoding.Shape, name encoding.Attr, f encoding.Form, encoded dwarftest.Bytes) {
	t.Helper()
	section := dwarftest.Bytes{}.Uleb(1, uint64(encoding.TagSubprogram)).U8(0).Uleb(uint64(name), uint64(f))
	if f == encoding.FormImplicit {
		section = section.Sleb(-5)
	}
	table, err := encoding.ParseTable(section.Uleb(0, 0, 0), 0, s)
	require.NoError(t, err)
	skip, read := encoding.Cursor{Data: encoded}, encoding.Cursor{Data: encoded}
	table.Get(1).Skip(&skip, s)
	var e encoding.Entry
	table.Get(1).Read(&read, s, &e)
	require.False(t, skip.Failed || read.Failed)
	require.Equal(t, len(encoded), int(skip.Off))
	require.Equal(t, len(encoded), int(read.Off))
}

func TestIndirectFormsAreLimited(t *testing.T) {
	endless := encoding.Cursor{Data: bytes.Repeat([]byte{byte(encoding.FormIndirect)}, 1000)}
	shape4.Read(&endless, encoding.FormIndirect, 0)
	require.True(t, endless.Failed)
	require.Less(t, endless.Off, uint64(10))
}

func TestUnknownForms(t *testing.T) {
	for _, f := range []encoding.Form{0, 0x02, 0x2d, 0x1f22, 0xffff} {
		c := encoding.Cursor{Data: make([]byte, 100)}
		shape4.Read(&c, f, 0)
		require.True(t, c.Failed, "form %#x", f)
	}
}

// FuzzAbbrev reads entries with tables of any bytes. A table is an error, or Get accepts all codes
// up to the number of its bytes, and entries end within the section.
func FuzzAbbrev(f *testing.F) {
	f.Add(dwarftest.Abbrevs(), []byte("unit.c\x00"))
	indirect := dwarftest.Bytes{}.Abbreviation(1, encoding.TagSubprogram, false, dwarftest.Attr(encoding.AttrName, encoding.FormIndirect))
	f.Add([]byte(indirect.Uleb(0)), []byte{0x16, 0x16, 0x16, 0x16, 0x16})
	f.Fuzz(func(t *testing.T, section, entry []byte) {
		for _, s := range []encoding.Shape{{Version: 2, AddrSize: 4}, {Version: 5, AddrSize: 8, Is64: true}} {
			table, err := encoding.ParseTable(section, 0, s)
			if err != nil {
				require.Nil(t, table)
				continue
			}
			require.LessOrEqual(t, table.Size, uint64(len(section)))
			for code := range uint64(len(section)) {
				a := table.Get(code)
				if a == nil {
					continue
				}
				c := encoding.Cursor{Data: entry}
				a.Skip(&c, s)
				require.LessOrEqual(t, c.Off, uint64(len(entry)))
			}
		}
	})
}
