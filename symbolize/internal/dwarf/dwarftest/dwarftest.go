// Package dwarftest writes DWARF sections for tests.
package dwarftest

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Bytes is a section that is being written. Each method appends to it and returns the longer
// section.
type Bytes []byte

// U8 appends bytes.
func (b Bytes) U8(v ...uint8) Bytes { return append(b, v...) }

// U16 appends 2 bytes, little-endian.
func (b Bytes) U16(v uint16) Bytes { return binary.LittleEndian.AppendUint16(b, v) }

// U32 appends 4 bytes, little-endian.
func (b Bytes) U32(v uint32) Bytes { return binary.LittleEndian.AppendUint32(b, v) }

// U64 appends numbers of 8 bytes, little-endian.
func (b Bytes) U64(v ...uint64) Bytes { return appendAll(b, v) }

// Str appends a string and a NUL byte.
func (b Bytes) Str(s string) Bytes { return append(append(b, s...), 0) }

func appendAll(b Bytes, v []uint64) Bytes {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// Uleb appends unsigned LEB128 numbers.
func (b Bytes) Uleb(v ...uint64) Bytes {
	for _, x := range v {
		for ; x >= 0x80; x >>= 7 {
			b = append(b, byte(x)|0x80)
		}
		b = append(b, byte(x))
	}
	return b
}

// Sleb appends a signed LEB128 number.
func (b Bytes) Sleb(v int64) Bytes {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && low&0x40 == 0) || (v == -1 && low&0x40 != 0) {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// Attribute is an attribute of an abbreviation.
type Attribute struct {
	name encoding.Attr
	form encoding.Form
}

// Attr returns an attribute.
func Attr(name encoding.Attr, form encoding.Form) Attribute { return Attribute{name, form} }

// LowSize returns the attributes of a range: the low address, and the size, of 8 bytes each.
func LowSize(more ...Attribute) []Attribute {
	return append([]Attribute{
		Attr(encoding.AttrLowPC, encoding.FormAddr), Attr(encoding.AttrHighPC, encoding.FormData8),
	}, more...)
}

// Abbreviation appends an abbreviation of .debug_abbrev.
func (b Bytes) Abbreviation(code uint64, t encoding.Tag, children bool, attrs ...Attribute) Bytes {
	b = b.Uleb(code, uint64(t))
	if children {
		b = b.U8(1)
	} else {
		b = b.U8(0)
	}
	for _, a := range attrs {
		b = b.Uleb(uint64(a.name), uint64(a.form))
	}
	return b.Uleb(0, 0)
}

// Codes of the abbreviations that [Abbrevs] returns. The comments list attributes.
const (
	CodeUnit      = 1  // name, low, high as size: 8 bytes each; children
	CodeFunction  = 2  // name, low, size; children
	CodeInlined   = 3  // abstract_origin (ref4), low, size, call_line (data1); children
	CodeAbstract  = 4  // name, decl_line (data1)
	CodeClass     = 5  // name; children
	CodeConcrete  = 6  // abstract_origin, low, size; children
	CodeSpecified = 7  // specification, low, size; children
	CodeRef       = 8  // abstract_origin, specification (ref4): a link of a chain
	CodeLines     = 9  // unit: name, low, size, stmt_list (sec_offset); no children
	CodeSkipped   = 10 // class: sibling (ref4), name; children
	CodeLanguage  = 11 // unit: language (data1), low, size; children
)

// Abbrevs returns a section .debug_abbrev with the abbreviations of all codes.
func Abbrevs() []byte {
	name := Attr(encoding.AttrName, encoding.FormString)
	origin := Attr(encoding.AttrAbstractOrigin, encoding.FormRef4)
	spec := Attr(encoding.AttrSpecification, encoding.FormRef4)
	return Bytes{}.
		Abbreviation(CodeUnit, encoding.TagCompileUnit, true, first(name)...).
		Abbreviation(CodeFunction, encoding.TagSubprogram, true, first(name)...).
		Abbreviation(CodeInlined, encoding.TagInlined, true,
			first(origin, Attr(encoding.AttrCallLine, encoding.FormData1))...).
		Abbreviation(CodeAbstract, encoding.TagSubprogram, false, name, Attr(encoding.AttrDeclLine, encoding.FormData1)).
		Abbreviation(CodeClass, encoding.TagClass, true, name).
		Abbreviation(CodeConcrete, encoding.TagSubprogram, true, first(origin)...).
		Abbreviation(CodeSpecified, encoding.TagSubprogram, true, first(spec)...).
		Abbreviation(CodeRef, encoding.TagSubprogram, false, origin, spec).
		Abbreviation(CodeLines, encoding.TagCompileUnit, false,
			first(name, Attr(encoding.AttrStmtList, encoding.FormSecOffset))...).
		Abbreviation(CodeSkipped, encoding.TagClass, true, Attr(encoding.AttrSibling, encoding.FormRef4), name).
		Abbreviation(CodeLanguage, encoding.TagCompileUnit, true,
			first(Attr(encoding.AttrLanguage, encoding.FormData1))...).
		Uleb(0)
}

// first returns one attribute, a range, and more attributes.
func first(a Attribute, more ...Attribute) []Attribute {
	return append([]Attribute{a}, LowSize(more...)...)
}

// unitHeader is the size of the header that Unit4 writes.
const unitHeader = 11

// Unit4 puts the header of a DWARF 4 unit before entries.
func Unit4(entries Bytes) []byte {
	return append(Bytes{}.U32(uint32(len(entries)+unitHeader-4)).U16(4).U32(0).U8(8), entries...)
}

// At returns the offset of the next entry, relative to the start of the unit.
func (b Bytes) At() uint32 { return unitHeader + uint32(len(b)) }

// Unit appends the root entry of a unit with one range.
func (b Bytes) Unit(lo, size uint64) Bytes {
	return b.Uleb(CodeUnit).Str("unit.c").U64(lo, size)
}

// Function appends a function with one range. End ends its children.
func (b Bytes) Function(name string, lo, size uint64) Bytes {
	return b.Uleb(CodeFunction).Str(name).U64(lo, size)
}

// Inlined appends an inlined call with one range. End ends its children.
func (b Bytes) Inlined(origin uint32, lo, size uint64, line uint8) Bytes {
	return b.Uleb(CodeInlined).U32(origin).U64(lo, size).U8(line)
}

// Abstract appends a function without code.
func (b Bytes) Abstract(name string, line uint8) Bytes {
	return b.Uleb(CodeAbstract).Str(name).U8(line)
}

// End ends a list of children.
func (b Bytes) End() Bytes { return b.U8(0) }
