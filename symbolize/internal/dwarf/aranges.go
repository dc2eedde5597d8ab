package dwarf

import "github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"

// readAranges adds the address ranges in .debug_aranges to units of DWARF 2 (section 6.1.2). DWARF
// 2 has no range lists, so that root entries describe one contiguous range at most: with
// -gstrict-dwarf, gcc omits code in separate sections, such as cold parts and templates. Units of
// later versions list all their ranges.
func (d *Data) readAranges() error {
	for off := uint64(0); off < uint64(len(d.sec.Aranges)); {
		c := encoding.At(d.sec.Aranges, off)
		shape := encoding.Shape{}
		length := uint64(c.U32())
		if length == 0xffffffff {
			shape.Is64, length = true, c.U64()
		}
		if c.Failed || length > uint64(len(c.Data))-c.Off {
			return formatError(".debug_aranges", off, "a set is longer than its section")
		}
		end := c.Off + length
		c.Data = c.Data[:end]
		version, unitOff := c.U16(), c.Word(shape.Is64)
		shape.AddrSize = c.U8()
		segments := c.U8()
		if c.Failed || version != 2 || segments != 0 || (shape.AddrSize != 8 && shape.AddrSize != 4) {
			return formatError(".debug_aranges", off, "a set of unknown version or with segments")
		}
		if u := d.unitAt(unitOff); u != nil && u.off == unitOff && u.Version < 3 && u.isCode() && !u.isRangeList {
			u.readArangesSet(&c, off)
		}
		off = end
	}
	return nil
}

// readArangesSet reads pairs of address and length. The first pair is at a multiple of the size of
// a pair.
func (u *unit) readArangesSet(c *encoding.Cursor, start uint64) {
	pair := 2 * uint64(u.AddrSize)
	c.Skip((pair - (c.Off-start)%pair) % pair)
	for !c.Failed && c.Off < uint64(len(c.Data)) {
		lo := c.Uint(u.AddrSize)
		if size := c.Uint(u.AddrSize); !c.Failed {
			u.ranges = u.AppendRange(u.ranges, lo, lo+size)
		}
	}
	u.hasRanges = u.hasRanges || len(u.ranges) > 0
}
