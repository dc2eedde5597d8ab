package dwarf

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var shape4 = unitShape{version: 4, addrSize: 8}

func TestAbbreviationCodes(t *testing.T) {
	section := bytesOf{}.
		abbreviation(1, tagCompileUnit, true).
		abbreviation(2, tagSubprogram, false).
		abbreviation(9, tagInlined, false).
		abbreviation(1<<40, tagNamespace, true).
		uleb(0)
	table, err := parseAbbrevs(section, 0, shape4)
	require.NoError(t, err)
	for code, want := range map[uint64]tag{1: tagCompileUnit, 2: tagSubprogram, 9: tagInlined, 1 << 40: tagNamespace} {
		require.Equal(t, want, table.get(code).tag, "code %d", code)
	}
	for _, code := range []uint64{0, 3, 8, 10, 1<<64 - 1} {
		require.Nil(t, table.get(code), "code %d", code)
	}
	require.True(t, table.get(1).children)
	require.False(t, table.get(2).children)
}

func TestAbbreviationsThatAreRefused(t *testing.T) {
	whole := bytesOf{}.abbreviation(1, tagSubprogram, true, uint64(attrName), uint64(formString)).uleb(0)
	for n := range whole {
		table, err := parseAbbrevs(whole[:n], 0, shape4)
		require.Error(t, err, "cut after %d of %d bytes", n, len(whole))
		require.Nil(t, table)
	}
	_, err := parseAbbrevs(whole, uint64(len(whole))+1, shape4)
	require.ErrorContains(t, err, ".debug_abbrev+0x")
	many := bytesOf{}.uleb(1, uint64(tagSubprogram)).u8(0)
	for range maxOps + 1 {
		many = many.uleb(uint64(attrName), uint64(formString))
	}
	_, err = parseAbbrevs(many.uleb(0, 0, 0), 0, shape4)
	require.ErrorContains(t, err, "malformed abbreviation")
}

// encodedForms is one value of each form, by the standard's section 7.5.6.
func encodedForms(s unitShape) map[form]bytesOf {
	word := bytesOf{}.u32(7)
	if s.is64 {
		word = bytesOf{}.u64(7)
	}
	address := bytesOf{7}.u8(make([]byte, s.addrSize-1)...)
	refAddr := word
	if s.version <= 2 {
		refAddr = address
	}
	out := map[form]bytesOf{
		formAddr: address, formRefAddr: refAddr, formString: bytesOf{}.str("text"),
		formBlock1: bytesOf{2, 0, 0}, formBlock2: bytesOf{2, 0, 0, 0}, formBlock4: bytesOf{2, 0, 0, 0, 0, 0},
		formBlock: bytesOf{2, 0, 0}, formExprloc: bytesOf{2, 0, 0},
		formFlagPresent: {}, formImplicit: {}, formFlag: bytesOf{1}, formSdata: bytesOf{}.sleb(-300), formData16: make(bytesOf, 16),
		formIndirect: bytesOf{}.uleb(uint64(formData2)).u16(7),
	}
	for _, f := range []form{formData1, formRef1, formStrx1, formAddrx1} {
		out[f] = bytesOf{7}
	}
	for _, f := range []form{formData2, formRef2, formStrx2, formAddrx2} {
		out[f] = bytesOf{}.u16(7)
	}
	for _, f := range []form{formStrx3, formAddrx3} {
		out[f] = bytesOf{7, 0, 0}
	}
	for _, f := range []form{formData4, formRef4, formStrx4, formAddrx4, formRefSup4} {
		out[f] = bytesOf{}.u32(7)
	}
	for _, f := range []form{formData8, formRef8, formRefSig8, formRefSup8} {
		out[f] = bytesOf{}.u64(7)
	}
	for _, f := range []form{formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex} {
		out[f] = bytesOf{}.uleb(300)
	}
	for _, f := range []form{formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt} {
		out[f] = word
	}
	return out
}

// TestFormsAreAsLongAsTheyAre: reading an attribute and passing over it end at the same place, the next entry.
func TestFormsAreAsLongAsTheyAre(t *testing.T) {
	for _, s := range []unitShape{{2, 8, false}, {2, 4, false}, {4, 8, true}, {5, 4, false}, {5, 8, true}} {
		for f, encoded := range encodedForms(s) {
			t.Run(fmt.Sprintf("%+v/form-%#x", s, f), func(t *testing.T) {
				c := cursor{b: encoded}
				s.read(&c, f, 0)
				require.False(t, c.failed)
				require.Equal(t, len(encoded), int(c.off))
				for _, name := range []attr{attrName, 0x3fff} { // one that is wanted, one that is not
					require.Equal(t, len(encoded), int(skippedBytes(t, s, name, f, encoded)))
				}
				for n := range encoded {
					short := cursor{b: encoded[:n]}
					s.read(&short, f, 0)
					require.True(t, short.failed, "%d of %d bytes", n, len(encoded))
				}
			})
		}
	}
}

// skippedBytes is how far an entry with one attribute reaches behind its code.
func skippedBytes(t *testing.T, s unitShape, name attr, f form, encoded bytesOf) uint64 {
	t.Helper()
	section := bytesOf{}.uleb(1, uint64(tagSubprogram)).u8(0).uleb(uint64(name), uint64(f))
	if f == formImplicit {
		section = section.sleb(-5)
	}
	table, err := parseAbbrevs(section.uleb(0, 0, 0), 0, s)
	require.NoError(t, err)
	u := &unit{unitShape: s, data: &Data{}}
	c := cursor{b: encoded}
	u.skipEntry(&c, table.get(1))
	require.False(t, c.failed)
	var e entry
	read := cursor{b: encoded}
	u.readEntry(&read, table.get(1), &e)
	require.Equal(t, c.off, read.off)
	return c.off
}

func TestIndirectFormsAreBounded(t *testing.T) {
	endless := cursor{b: make([]byte, 1000)}
	for i := range endless.b {
		endless.b[i] = byte(formIndirect)
	}
	shape4.read(&endless, formIndirect, 0)
	require.True(t, endless.failed)
	require.LessOrEqual(t, endless.off, uint64(maxIndirect))
}

func TestUnknownFormsFail(t *testing.T) {
	for _, f := range []form{0, 0x02, 0x2d, 0x1f22, 0xffff} {
		c := cursor{b: make([]byte, 100)}
		shape4.read(&c, f, 0)
		require.True(t, c.failed, "form %#x", f)
	}
}
