package dwarf

// readAranges gives units of DWARF 2 the addresses that .debug_aranges has for them (DWARF 2 section 6.1.2). Without range
// lists their root entries name one part of their code at most: gcc -gstrict-dwarf leaves out what
// it put into sections of its own, cold parts and templates. Later versions need no such help.
func (d *Data) readAranges() error {
	for off := uint64(0); off < uint64(len(d.sec.Aranges)); {
		c := at(d.sec.Aranges, off)
		shape := unitShape{}
		length := uint64(c.u32())
		if length == 0xffffffff {
			shape.is64, length = true, c.u64()
		}
		if c.failed || length > uint64(len(c.b))-c.off {
			return &FormatError{".debug_aranges", off, "a set is longer than its section"}
		}
		end := c.off + length
		c.b = c.b[:end]
		version, unitOff := c.u16(), c.word(shape.is64)
		shape.addrSize = c.u8()
		segments := c.u8()
		if c.failed || version != 2 || segments != 0 || (shape.addrSize != 8 && shape.addrSize != 4) {
			return &FormatError{".debug_aranges", off, "a set of unknown version or with segments"}
		}
		if u := d.unitAt(unitOff); u != nil && u.off == unitOff && u.version < 3 && u.isCode() && !u.isRangeList {
			u.readArangesSet(&c, off)
		}
		off = end
	}
	return nil
}

// readArangesSet reads the pairs of address and length, which are aligned to their own size.
func (u *unit) readArangesSet(c *cursor, start uint64) {
	pair := 2 * uint64(u.addrSize)
	c.skip((pair - (c.off-start)%pair) % pair)
	for !c.failed && c.off < uint64(len(c.b)) {
		lo := c.uint(u.addrSize)
		if size := c.uint(u.addrSize); !c.failed {
			u.ranges = u.appendRange(u.ranges, lo, lo+size)
		}
	}
	u.hasRanges = u.hasRanges || len(u.ranges) > 0
}
