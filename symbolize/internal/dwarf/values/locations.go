package values

import "github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"

// Expression returns the expression of an attribute, which may be a list, at an address.
func (u *Unit) Expression(v encoding.Value, pc uint64) []byte {
	switch v.Form {
	case encoding.FormExprloc, encoding.FormBlock, encoding.FormBlock1:
		return u.Block(v)
	case encoding.FormBlock2:
		c := encoding.At(u.Entries, v.U)
		return take(&c, uint64(c.U16()))
	case encoding.FormLoclistx:
		c := encoding.At(u.File.LocLists, u.loclistsBase+v.U*uint64(u.OffsetSize()))
		if off := u.loclistsBase + c.Word(u.Is64); !c.Failed {
			return u.fromList(off, pc)
		}
	case encoding.FormSecOffset:
		if u.Version >= 5 {
			return u.fromList(v.U, pc)
		}
		return u.fromOldList(v.U, pc)
	case encoding.FormData4, encoding.FormData8:
		if u.Version < 4 {
			return u.fromOldList(v.U, pc)
		}
	}
	return nil
}

// Block returns the bytes of a value that consists of some.
func (u *Unit) Block(v encoding.Value) []byte {
	c := encoding.At(u.Entries, v.U)
	switch v.Form {
	case encoding.FormExprloc, encoding.FormBlock:
		return take(&c, c.Uleb())
	case encoding.FormBlock1:
		return take(&c, uint64(c.U8()))
	}
	return nil
}

// take returns the next bytes.
func take(c *encoding.Cursor, size uint64) []byte {
	start := c.Off
	if c.Skip(size); c.Failed {
		return nil
	}
	return c.Data[start:c.Off]
}

// fromOldList reads a list of .debug_loc (DWARF 4 section 2.6.2).
func (u *Unit) fromOldList(off, pc uint64) []byte {
	base, escape := u.LowPC, ^uint64(0)
	if u.AddrSize == 4 {
		escape = 1<<32 - 1
	}
	c := encoding.At(u.File.Loc, off)
	for u.File.locations.Add(-1) >= 0 {
		lo, hi := c.Uint(u.AddrSize), c.Uint(u.AddrSize)
		switch {
		case c.Failed || lo == 0 && hi == 0:
			return nil
		case lo == escape:
			base = hi
			continue
		}
		if e := take(&c, uint64(c.U16())); base+lo <= pc && pc < base+hi {
			return e
		}
	}
	return nil
}

// fromList reads a list of .debug_loclists (DWARF 5 section 2.6.2).
func (u *Unit) fromList(off, pc uint64) (byDefault []byte) {
	c := encoding.At(u.File.LocLists, off)
	base := u.LowPC
	for u.File.locations.Add(-1) >= 0 && !c.Failed {
		var lo, hi uint64
		kind := c.U8()
		switch kind {
		case 0x01: // base_addressx
			base, _ = u.IndexedAddress(c.Uleb())
			continue
		case 0x06: // base_address
			base = c.Uint(u.AddrSize)
			continue
		case 0x09: // GNU_view_pair
			c.Uleb()
			c.Uleb()
			continue
		case 0x02: // startx_endx
			lo, _ = u.IndexedAddress(c.Uleb())
			hi, _ = u.IndexedAddress(c.Uleb())
		case 0x03: // startx_length
			lo, _ = u.IndexedAddress(c.Uleb())
			hi = lo + c.Uleb()
		case 0x04: // offset_pair
			lo, hi = base+c.Uleb(), base+c.Uleb()
		case 0x05: // default_location
		case 0x07: // start_end
			lo, hi = c.Uint(u.AddrSize), c.Uint(u.AddrSize)
		case 0x08: // start_length
			lo = c.Uint(u.AddrSize)
			hi = lo + c.Uleb()
		default: // end_of_list, or unknown
			return byDefault
		}
		e := take(&c, c.Uleb())
		if kind == 0x05 {
			byDefault = e
		} else if lo <= pc && pc < hi {
			return e
		}
	}
	return byDefault
}
