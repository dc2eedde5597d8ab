package dwarf

import (
	"bytes"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// str returns a value as a string, or "" if it is not a string.
func (u *unit) str(v encoding.Value) string {
	d := u.data
	switch v.Form {
	case encoding.FormString:
		return stringAt(d.sec.Info, v.U)
	case encoding.FormStrp:
		return stringAt(d.sec.Str, v.U)
	case encoding.FormLineStrp:
		return stringAt(d.sec.LineStr, v.U)
	case encoding.FormStrpSup, encoding.FormGNUStrpAlt:
		if d.alt != nil {
			return stringAt(d.alt.sec.Str, v.U)
		}
	case encoding.FormStrx, encoding.FormStrx1, encoding.FormStrx2, encoding.FormStrx3, encoding.FormStrx4,
		encoding.FormGNUStrIndex:
		return u.indexedString(v.U)
	}
	return ""
}

func (u *unit) indexedString(index uint64) string {
	size := uint64(u.OffsetSize())
	if index > uint64(len(u.data.sec.StrOffsets))/size {
		return ""
	}
	c := encoding.At(u.data.sec.StrOffsets, u.strOffsetsBase+index*size)
	off := c.Word(u.Is64)
	if c.Failed {
		return ""
	}
	return stringAt(u.data.sec.Str, off)
}

func stringAt(section []byte, off uint64) string {
	if off >= uint64(len(section)) {
		return ""
	}
	b := section[off:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return string(b[:n])
	}
	return ""
}

// addr returns a value as an address.
func (u *unit) addr(v encoding.Value) (uint64, bool) {
	switch v.Form {
	case encoding.FormAddr:
		return v.U, true
	case encoding.FormAddrx, encoding.FormAddrx1, encoding.FormAddrx2, encoding.FormAddrx3, encoding.FormAddrx4,
		encoding.FormGNUAddrIndex:
		return u.indexedAddr(v.U)
	}
	return 0, false
}

func (u *unit) indexedAddr(index uint64) (uint64, bool) {
	size := uint64(u.AddrSize)
	if index > uint64(len(u.data.sec.Addr))/size {
		return 0, false
	}
	c := encoding.At(u.data.sec.Addr, u.addrBase+index*size)
	a := c.Uint(u.AddrSize)
	return a, !c.Failed
}

// rangesOf returns the address ranges of an entry: a low and a high address, or a list. It omits
// ranges of code that the linker dropped.
func (u *unit) rangesOf(e *encoding.Entry) []interval.Range {
	if e.Ranges.Form != 0 {
		return u.rangeList(e.Ranges, nil)
	}
	if e.LowPC.Form == 0 || e.HighPC.Form == 0 {
		return nil
	}
	lo, ok := u.addr(e.LowPC)
	if !ok {
		return nil
	}
	hi, isAddr := u.addr(e.HighPC)
	if !isAddr {
		hi = lo + e.HighPC.U
	}
	return u.appendRange(nil, lo, hi)
}

// appendRange omits empty ranges and tombstones. Linkers write 0, 1 or the highest addresses for
// code that is not in the output.
func (u *unit) appendRange(out []interval.Range, lo, hi uint64) []interval.Range {
	highest := ^uint64(0)
	if u.AddrSize == 4 {
		highest = 1<<32 - 1
	}
	if lo <= 1 || lo >= hi || lo >= highest-1 {
		return out
	}
	return append(out, interval.Range{Lo: lo, Hi: hi})
}

// errSharedRanges is the error if the budget for range lists is used up.
var errSharedRanges = formatError(".debug_ranges", 0, "too many entries share range lists")

// rangeList reads a list, which ends at the end of its section at the latest. It returns no ranges
// once the budget is used up.
func (u *unit) rangeList(v encoding.Value, out []interval.Range) []interval.Range {
	if u.data.budget.ranges.Load() < 0 {
		return out
	}
	if u.Version >= 5 {
		return u.rnglist(v, out)
	}
	return u.oldRanges(v.U, out)
}

// oldRanges reads a list of .debug_ranges (DWARF 4 section 2.17.3).
func (u *unit) oldRanges(off uint64, out []interval.Range) []interval.Range {
	base := u.lowPC
	escape := ^uint64(0)
	if u.AddrSize == 4 {
		escape = 1<<32 - 1
	}
	c := encoding.At(u.data.sec.Ranges, off+u.rangesBase)
	for n := 1; ; n++ {
		lo, hi := c.Uint(u.AddrSize), c.Uint(u.AddrSize)
		switch {
		case c.Failed || (lo == 0 && hi == 0):
			spend(&u.data.budget.ranges, n)
			return out
		case lo == escape:
			base = hi
		default:
			out = u.appendRange(out, base+lo, base+hi)
		}
	}
}

// rnglist reads a list of .debug_rnglists (DWARF 5 section 2.17.3).
func (u *unit) rnglist(v encoding.Value, out []interval.Range) []interval.Range {
	off := v.U
	if v.Form == encoding.FormRnglistx {
		c := encoding.At(u.data.sec.RngLists, u.rnglistsBase+v.U*uint64(u.OffsetSize()))
		off = u.rnglistsBase + c.Word(u.Is64)
		if c.Failed {
			return out
		}
	}
	c := encoding.At(u.data.sec.RngLists, off)
	base := u.lowPC
	for n := 1; ; n++ {
		var done bool
		if out, base, done = u.rnglistEntry(&c, base, out); done {
			spend(&u.data.budget.ranges, n)
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
func (u *unit) rnglistEntry(c *encoding.Cursor, base uint64, out []interval.Range) ([]interval.Range, uint64, bool) {
	var lo, hi uint64
	switch kind := c.U8(); kind {
	case 0x01: // base_addressx
		base, _ = u.indexedAddr(c.Uleb())
		return out, deadBase(base), c.Failed
	case 0x05: // base_address
		return out, c.Uint(u.AddrSize), c.Failed
	case 0x02: // startx_endx
		lo, _ = u.indexedAddr(c.Uleb())
		hi, _ = u.indexedAddr(c.Uleb())
	case 0x03: // startx_length
		lo, _ = u.indexedAddr(c.Uleb())
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
	return u.appendRange(out, lo, hi), base, false
}
