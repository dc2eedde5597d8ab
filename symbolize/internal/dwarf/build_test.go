package dwarf

import (
	"encoding/binary"
	"slices"
)

// bytesOf writes sections: each method appends one value and returns the longer section.
type bytesOf []byte

func (b bytesOf) u8(v ...uint8) bytesOf   { return append(b, v...) }
func (b bytesOf) u16(v uint16) bytesOf    { return binary.LittleEndian.AppendUint16(b, v) }
func (b bytesOf) u32(v uint32) bytesOf    { return binary.LittleEndian.AppendUint32(b, v) }
func (b bytesOf) u64(v ...uint64) bytesOf { return appendAll(b, v) }
func (b bytesOf) str(s string) bytesOf    { return append(append(b, s...), 0) }

func appendAll(b bytesOf, v []uint64) bytesOf {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func (b bytesOf) uleb(v ...uint64) bytesOf {
	for _, x := range v {
		for ; x >= 0x80; x >>= 7 {
			b = append(b, byte(x)|0x80)
		}
		b = append(b, byte(x))
	}
	return b
}

func (b bytesOf) sleb(v int64) bytesOf {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && low&0x40 == 0) || (v == -1 && low&0x40 != 0) {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// abbreviation appends one of .debug_abbrev; attributes are pairs of name and form.
func (b bytesOf) abbreviation(code uint64, t tag, children bool, pairs ...uint64) bytesOf {
	b = b.uleb(code, uint64(t))
	if children {
		b = b.u8(1)
	} else {
		b = b.u8(0)
	}
	return b.uleb(pairs...).uleb(0, 0)
}

// Abbreviation codes of the tests' units.
const (
	codeUnit      = 1  // name, low, high as size: 8 bytes each; children
	codeFunction  = 2  // name, low, size; children
	codeInlined   = 3  // abstract_origin (ref4), low, size, call_line (data1); children
	codeAbstract  = 4  // name, decl_line (data1)
	codeClass     = 5  // name; children
	codeConcrete  = 6  // abstract_origin, low, size; children
	codeSpecified = 7  // specification, low, size; children
	codeRef       = 8  // abstract_origin, specification (ref4): a link of a chain
	codeLines     = 9  // unit: name, low, size, stmt_list (sec_offset); no children
	codeSkipped   = 10 // class: sibling (ref4), name; children
)

func testAbbrevs() []byte {
	lowSize := []uint64{uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)}
	name := []uint64{uint64(attrName), uint64(formString)}
	origin := []uint64{uint64(attrAbstractOrigin), uint64(formRef4)}
	spec := []uint64{uint64(attrSpecification), uint64(formRef4)}
	return bytesOf{}.
		abbreviation(codeUnit, tagCompileUnit, true, slices.Concat(name, lowSize)...).
		abbreviation(codeFunction, tagSubprogram, true, slices.Concat(name, lowSize)...).
		abbreviation(codeInlined, tagInlined, true, slices.Concat(origin, lowSize, []uint64{uint64(attrCallLine), uint64(formData1)})...).
		abbreviation(codeAbstract, tagSubprogram, false, slices.Concat(name, []uint64{uint64(attrDeclLine), uint64(formData1)})...).
		abbreviation(codeClass, tagClass, true, name...).
		abbreviation(codeConcrete, tagSubprogram, true, slices.Concat(origin, lowSize)...).
		abbreviation(codeSpecified, tagSubprogram, true, slices.Concat(spec, lowSize)...).
		abbreviation(codeRef, tagSubprogram, false, slices.Concat(origin, spec)...).
		abbreviation(codeLines, tagCompileUnit, false, slices.Concat(name, lowSize, []uint64{uint64(attrStmtList), uint64(formSecOffset)})...).
		abbreviation(codeSkipped, tagClass, true, slices.Concat([]uint64{uint64(attrSibling), uint64(formRef4)}, name)...).
		uleb(0)
}

// unitHeader is the size of the header that unit4 writes.
const unitHeader = 11

// unit4 puts a DWARF 4 header before entries.
func unit4(entries bytesOf) []byte {
	return append(bytesOf{}.u32(uint32(len(entries)+unitHeader-4)).u16(4).u32(0).u8(8), entries...)
}

// at returns where the next entry will be, as references within the unit count.
func (b bytesOf) at() uint32 { return unitHeader + uint32(len(b)) }

func (b bytesOf) unit(lo, size uint64) bytesOf {
	return b.uleb(codeUnit).str("unit.c").u64(lo, size)
}

func (b bytesOf) function(name string, lo, size uint64) bytesOf {
	return b.uleb(codeFunction).str(name).u64(lo, size)
}

func (b bytesOf) inlined(origin uint32, lo, size uint64, line uint8) bytesOf {
	return b.uleb(codeInlined).u32(origin).u64(lo, size).u8(line)
}

func (b bytesOf) abstract(name string, line uint8) bytesOf {
	return b.uleb(codeAbstract).str(name).u8(line)
}

func (b bytesOf) end() bytesOf { return b.u8(0) }

// lookupAll asks for all addresses in [lo, hi).
func lookupAll(d *Data, lo, hi uint64) (map[uint64][]Frame, error) {
	var addrs []uint64
	for a := lo; a < hi; a++ {
		addrs = append(addrs, a)
	}
	out := map[uint64][]Frame{}
	err := d.Lookup(addrs, func(a uint64, frames []Frame) { out[a] = slices.Clone(frames) })
	return out, err
}

// names are the functions of frames, innermost first.
func names(frames []Frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, f.Name)
	}
	return out
}
