package dwarf

import (
	"bytes"

	"github.com/heaplapse/heaplapse/internal/interval"
)

// str returns a value as a string, or "" if it is not a string.
func (u *unit) str(v value) string {
	d := u.data
	switch v.form {
	case formString:
		return stringAt(d.sec.Info, v.u)
	case formStrp:
		return stringAt(d.sec.Str, v.u)
	case formLineStrp:
		return stringAt(d.sec.LineStr, v.u)
	case formStrpSup, formGNUStrpAlt:
		if d.alt != nil {
			return stringAt(d.alt.sec.Str, v.u)
		}
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		return u.indexedString(v.u)
	}
	return ""
}

func (u *unit) indexedString(index uint64) string {
	size := uint64(u.offsetSize())
	if index > uint64(len(u.data.sec.StrOffsets))/size {
		return ""
	}
	c := at(u.data.sec.StrOffsets, u.strOffsetsBase+index*size)
	off := c.word(u.is64)
	if c.failed {
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
func (u *unit) addr(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.indexedAddr(v.u)
	}
	return 0, false
}

func (u *unit) indexedAddr(index uint64) (uint64, bool) {
	size := uint64(u.addrSize)
	if index > uint64(len(u.data.sec.Addr))/size {
		return 0, false
	}
	c := at(u.data.sec.Addr, u.addrBase+index*size)
	a := c.uint(u.addrSize)
	return a, !c.failed
}

// rangesOf returns the address ranges of an entry: a low and a high address, or a list. It omits
// ranges of code that the linker dropped.
func (u *unit) rangesOf(e *entry) []interval.Range {
	if e.ranges.form != 0 {
		return u.rangeList(e.ranges, nil)
	}
	if e.lowPC.form == 0 || e.highPC.form == 0 {
		return nil
	}
	lo, ok := u.addr(e.lowPC)
	if !ok {
		return nil
	}
	hi, isAddr := u.addr(e.highPC)
	if !isAddr {
		hi = lo + e.highPC.u
	}
	return u.appendRange(nil, lo, hi)
}

// appendRange omits empty ranges and tombstones. Linkers write 0, 1 or the highest addresses for
// code that is not in the output.
func (u *unit) appendRange(out []interval.Range, lo, hi uint64) []interval.Range {
	highest := ^uint64(0)
	if u.addrSize == 4 {
		highest = 1<<32 - 1
	}
	if lo <= 1 || lo >= hi || lo >= highest-1 {
		return out
	}
	return append(out, interval.Range{Lo: lo, Hi: hi})
}

// errSharedRanges is the error if the budget for range lists is used up.
var errSharedRanges = &FormatError{".debug_ranges", 0, "too many entries share range lists"}

// rangeList reads a list, which ends at the end of its section at the latest. It returns no ranges
// once the budget is used up.
func (u *unit) rangeList(v value, out []interval.Range) []interval.Range {
	if u.data.budget.ranges.Load() < 0 {
		return out
	}
	if u.version >= 5 {
		return u.rnglist(v, out)
	}
	return u.oldRanges(v.u, out)
}

// oldRanges reads a list of .debug_ranges (DWARF 4 section 2.17.3).
func (u *unit) oldRanges(off uint64, out []interval.Range) []interval.Range {
	base := u.lowPC
	escape := ^uint64(0)
	if u.addrSize == 4 {
		escape = 1<<32 - 1
	}
	c := at(u.data.sec.Ranges, off+u.rangesBase)
	for n := 1; ; n++ {
		lo, hi := c.uint(u.addrSize), c.uint(u.addrSize)
		switch {
		case c.failed || (lo == 0 && hi == 0):
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
func (u *unit) rnglist(v value, out []interval.Range) []interval.Range {
	off := v.u
	if v.form == formRnglistx {
		c := at(u.data.sec.RngLists, u.rnglistsBase+v.u*uint64(u.offsetSize()))
		off = u.rnglistsBase + c.word(u.is64)
		if c.failed {
			return out
		}
	}
	c := at(u.data.sec.RngLists, off)
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
func (u *unit) rnglistEntry(c *cursor, base uint64, out []interval.Range) ([]interval.Range, uint64, bool) {
	var lo, hi uint64
	switch kind := c.u8(); kind {
	case 0x01: // base_addressx
		base, _ = u.indexedAddr(c.uleb())
		return out, deadBase(base), c.failed
	case 0x05: // base_address
		return out, c.uint(u.addrSize), c.failed
	case 0x02: // startx_endx
		lo, _ = u.indexedAddr(c.uleb())
		hi, _ = u.indexedAddr(c.uleb())
	case 0x03: // startx_length
		lo, _ = u.indexedAddr(c.uleb())
		hi = lo + c.uleb()
	case 0x04: // offset_pair
		lo, hi = c.uleb(), c.uleb()
		if base == dead {
			return out, base, c.failed
		}
		lo, hi = base+lo, base+hi
	case 0x06: // start_end
		lo, hi = c.uint(u.addrSize), c.uint(u.addrSize)
	case 0x07: // start_length
		lo = c.uint(u.addrSize)
		hi = lo + c.uleb()
	default: // end_of_list, or unknown
		return out, base, true
	}
	if c.failed {
		return out, base, true
	}
	return u.appendRange(out, lo, hi), base, false
}
