// Package values reads what the attributes of an entry refer to in other sections: strings,
// addresses, lists of address ranges and lists of locations (DWARF 5 sections 7.26 to 7.29; for
// DWARF 2 to 4, the older sections).
//
// Input is not trusted: a value that leads out of its section is absent, and a budget limits how
// much of the lists is read, because crafted entries may share long ones.
package values

import (
	"bytes"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Sections holds the debug sections of an ELF file, decompressed. A missing section is nil.
type Sections struct {
	Info, Abbrev, Line, Str, LineStr, StrOffsets, Addr, Ranges, RngLists, Aranges []byte
	Types                                                                         []byte // type units of DWARF 4
	Loc, LocLists                                                                 []byte // location lists
}

// File is the sections of a file, and how much of its lists may still be read.
type File struct {
	Sections
	// AltStr is .debug_str of dwz's supplementary file, or nil.
	AltStr            []byte
	ranges, locations atomic.Int64
}

// Renew sets how many entries of lists may be read. limit is called with the size of their
// sections.
func (f *File) Renew(limit func(size int) int) {
	f.ranges.Store(int64(limit(len(f.Ranges) + len(f.RngLists))))
	f.locations.Store(int64(limit(len(f.Loc) + len(f.LocLists))))
}

var errSharedRanges = &encoding.FormatError{Section: ".debug_ranges", Msg: "too many entries share range lists"}

// Fault returns an error once no more range lists may be read.
func (f *File) Fault() error {
	if f.ranges.Load() < 0 {
		return errSharedRanges
	}
	return nil
}

// Unit reads the values of the entries of a unit.
type Unit struct {
	encoding.Shape
	File *File
	// Entries is .debug_info up to the end of the unit.
	Entries []byte
	// LowPC is the address that lists are relative to.
	LowPC uint64

	strOffsetsBase, addrBase, rnglistsBase, rangesBase, loclistsBase uint64
	// splitRangesBase is the rangesBase of the skeleton's split unit. DW_AT_GNU_ranges_base does
	// not apply to the DW_AT_ranges of the skeleton itself.
	splitRangesBase uint64
}

// ReadBases reads where the unit's parts of other sections begin, from its root entry. split means
// that it is a split unit. All other values depend on it.
func (u *Unit) ReadBases(root *encoding.Entry, split bool) {
	u.strOffsetsBase = root.StrOffsetsBase.U
	u.addrBase = root.AddrBase.U
	u.rnglistsBase = root.RnglistsBase.U
	u.splitRangesBase = root.RangesBase.U
	u.loclistsBase = root.LoclistsBase.U
	if u.Version < 5 {
		return
	}
	// Split units have no bases: their tables begin after the header.
	if root.StrOffsetsBase.Form == 0 {
		u.strOffsetsBase = u.headerSize(4)
	}
	if root.RnglistsBase.Form == 0 && split {
		u.rnglistsBase = u.headerSize(8)
	}
}

// headerSize returns the size of a table header: the length field and a number of other bytes.
func (u *Unit) headerSize(further uint64) uint64 {
	if u.Is64 {
		return 12 + further
	}
	return 4 + further
}

// Join gives a split unit what is in the file of its skeleton: addresses and, before DWARF 5, range
// lists.
func (u *Unit) Join(skeleton *Unit) {
	u.addrBase, u.LowPC = skeleton.addrBase, skeleton.LowPC
	u.File.Addr = skeleton.File.Addr
	if u.Version < 5 {
		u.rangesBase = skeleton.splitRangesBase
		u.File.Ranges = skeleton.File.Ranges
	}
}

// Text returns a value as a string, or "" if it is not a string.
func (u *Unit) Text(v encoding.Value) string {
	switch v.Form {
	case encoding.FormString:
		return stringAt(u.File.Info, v.U)
	case encoding.FormStrp:
		return stringAt(u.File.Str, v.U)
	case encoding.FormLineStrp:
		return stringAt(u.File.LineStr, v.U)
	case encoding.FormStrpSup, encoding.FormGNUStrpAlt:
		return stringAt(u.File.AltStr, v.U)
	case encoding.FormStrx, encoding.FormStrx1, encoding.FormStrx2, encoding.FormStrx3, encoding.FormStrx4,
		encoding.FormGNUStrIndex:
		return u.indexedString(v.U)
	}
	return ""
}

func (u *Unit) indexedString(index uint64) string {
	size := uint64(u.OffsetSize())
	if index > uint64(len(u.File.StrOffsets))/size {
		return ""
	}
	c := encoding.At(u.File.StrOffsets, u.strOffsetsBase+index*size)
	off := c.Word(u.Is64)
	if c.Failed {
		return ""
	}
	return stringAt(u.File.Str, off)
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

// Address returns a value as an address.
func (u *Unit) Address(v encoding.Value) (uint64, bool) {
	switch v.Form {
	case encoding.FormAddr:
		return v.U, true
	case encoding.FormAddrx, encoding.FormAddrx1, encoding.FormAddrx2, encoding.FormAddrx3, encoding.FormAddrx4,
		encoding.FormGNUAddrIndex:
		return u.IndexedAddress(v.U)
	}
	return 0, false
}

// IndexedAddress returns an address of .debug_addr.
func (u *Unit) IndexedAddress(index uint64) (uint64, bool) {
	size := uint64(u.AddrSize)
	if index > uint64(len(u.File.Addr))/size {
		return 0, false
	}
	c := encoding.At(u.File.Addr, u.addrBase+index*size)
	a := c.Uint(u.AddrSize)
	return a, !c.Failed
}
