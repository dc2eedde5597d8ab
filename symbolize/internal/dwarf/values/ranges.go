package values

import (
	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Ranges returns the address ranges of an entry: a low and a high address, or a list. It omits
// ranges of code that the linker dropped.
func (u *Unit) Ranges(e *encoding.Entry) []interval.Range {
	if e.Ranges.Form != 0 {
		return u.rangeList(e.Ranges, nil)
	}
	if e.LowPC.Form == 0 || e.HighPC.Form == 0 {
		return nil
	}
	lo, ok := u.Address(e.LowPC)
	if !ok {
		return nil
	}
	hi, isAddr := u.Address(e.HighPC)
	if !isAddr {
		hi = lo + e.HighPC.U
	}
	return u.AppendRange(nil, lo, hi)
}

// AppendRange omits empty ranges and tombstones. Linkers write 0, 1 or the highest addresses for
// code that is not in the output.
func (u *Unit) AppendRange(out []interval.Range, lo, hi uint64) []interval.Range {
	highest := ^uint64(0)
	if u.AddrSize == 4 {
		highest = 1<<32 - 1
	}
	if lo <= 1 || lo >= hi || lo >= highest-1 {
		return out
	}
	return append(out, interval.Range{Lo: lo, Hi: hi})
}

// rangeList reads a list, which ends at the end of its section at the latest. It returns no ranges
// once the budget is used up.
func (u *Unit) rangeList(v encoding.Value, out []interval.Range) []interval.Range {
	if u.File.Fault() != nil {
		return out
	}
	if u.Version >= 5 {
		return u.rnglist(v, out)
	}
	return u.oldRanges(v.U, out)
}

// oldRanges reads a list of .debug_ranges (DWARF 4 section 2.17.3).
func (u *Unit) oldRanges(off uint64, out []interval.Range) []interval.Range {
	base := u.LowPC
	escape := ^uint64(0)
	if u.AddrSize == 4 {
		escape = 1<<32 - 1
	}
	c := encoding.At(u.File.Ranges, off+u.rangesBase)
	for n := 1; ; n++ {
		lo, hi := c.Uint(u.AddrSize), c.Uint(u.AddrSize)
		switch {
		case c.Failed || (lo == 0 && hi == 0):
			u.File.ranges.Add(-int64(n))
			return out
		case lo == escape:
			base = hi
		default:
			out = u.AppendRange(out, base+lo, base+hi)
		}
	}
}

// rnglist reads a list of .debug_rnglists (DWARF 5 section 2.17.3).
func (u *Unit) rnglist(v encoding.Value, out []interval.Range) []interval.Range {
	off := v.U
	if v.Form == encoding.FormRnglistx {
		c := encoding.At(u.File.RngLists, u.rnglistsBase+v.U*uint64(u.OffsetSize()))
		off = u.rnglistsBase + c.Word(u.Is64)
		if c.Failed {
			return out
		}
	}
	c := encoding.At(u.File.RngLists, off)
	base := u.LowPC
	for n := 1; ; n++ {
		var done bool
		if out, base, done = u.rnglistEntry(&c, base, out); done {
			u.File.ranges.Add(-int64(n))
			return out
		}
	}
}

// dead is the base address of code that the linker dropped.
const dead = ^uint64(0)

func deadBase(base uint64) uint64 {
	if base <= 1 {
		return dead
	}
	return base
}

// rnglistEntry reads one DW_RLE_* entry.
func (u *Unit) rnglistEntry(c *encoding.Cursor, base uint64, out []interval.Range) ([]interval.Range, uint64, bool) {
	var lo, hi uint64
	switch kind := c.U8(); kind {
	case 0x01: // base_addressx
		base, _ = u.IndexedAddress(c.Uleb())
		return out, deadBase(base), c.Failed
	case 0x05: // base_address
		return out, c.Uint(u.AddrSize), c.Failed
	case 0x02: // startx_endx
		lo, _ = u.IndexedAddress(c.Uleb())
		hi, _ = u.IndexedAddress(c.Uleb())
	case 0x03: // startx_length
		lo, _ = u.IndexedAddress(c.Uleb())
		hi = lo + c.Uleb()
	case 0x04: // offset_pair
		lo, hi = c.Uleb(), c.Uleb()
		if base == dead {
			return out, base, c.Failed
		}
		lo, hi = base+lo, base+hi
	case 0x06: // start_end
		lo, hi = c.Uint(u.AddrSize), c.Uint(u.AddrSize)
	case 0x07: // start_length
		lo = c.Uint(u.AddrSize)
		hi = lo + c.Uleb()
	default: // end_of_list, or unknown
		return out, base, true
	}
	if c.Failed {
		return out, base, true
	}
	return u.AppendRange(out, lo, hi), base, false
}
