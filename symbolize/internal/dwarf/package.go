package dwarf

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Package is a DWARF package file, <binary>.dwp: the split units of many .dwo files, and an index of them.
//
// Sources: DWARF 5 section 7.3.5, and for version 2 of the index, which goes with DWARF 4,
// gcc.gnu.org/wiki/DebugFissionDWP.
type Package struct {
	sec   Sections // of the whole package
	index []byte
	rows  map[uint64]uint32 // by ID of the split unit: its row, from 0
	parts []partKind        // by column: the section that a unit has a part of
	// offsets and sizes are where the two tables of parts begin.
	offsets, sizes uint64
	// left is a budget: parts may overlap in crafted files only.
	left atomic.Int64
}

// partKind is a section's number in the index, DW_SECT_*.
type partKind uint32

const (
	partInfo       partKind = 1
	partAbbrev     partKind = 3
	partLine       partKind = 4
	partStrOffsets partKind = 6
	partRngLists   partKind = 8 // in version 2 that is .debug_macro
)

// maxParts caps the columns of an index; there are eight kinds.
const maxParts = 64

// IndexSection is the section of a package that holds the index of its units.
const IndexSection = ".debug_cu_index"

func indexFault(off uint64, format string, args ...any) error {
	return &FormatError{IndexSection, off, fmt.Sprintf(format, args...)}
}

// OpenPackage reads the index of a package. sec are the package's .dwo sections.
func OpenPackage(index []byte, sec Sections) (*Package, error) {
	c := cursor{b: index}
	version := c.u32() // version 5 has 16 bits and as many of padding
	columns, units, slots := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	if c.failed {
		return nil, indexFault(0, "a header needs 16 bytes, there are %d", len(index))
	}
	if version != 2 && version&0xffff != 5 {
		return nil, indexFault(0, "version %d is not supported", version)
	}
	p := &Package{sec: sec, index: index}
	p.left.Store(int64(budgetFloor + budgetTimes*(len(sec.Info)+len(sec.Abbrev)+len(sec.Line))))
	rowsAt := c.off + 8*slots
	partsAt := rowsAt + 4*slots
	p.offsets = partsAt + 4*columns
	p.sizes = p.offsets + 4*columns*units
	if columns > maxParts || p.sizes+4*columns*units > uint64(len(index)) {
		return nil, indexFault(0, "%d units of %d sections in %d slots do not fit into %d bytes", units, columns, slots, len(index))
	}
	for i := range columns {
		p.parts = append(p.parts, p.kind(version, p.u32(partsAt+4*i)))
	}
	return p, p.readSlots(rowsAt, slots, units)
}

func (p *Package) kind(version, id uint32) partKind {
	if version == 2 && partKind(id) == partRngLists {
		return 0
	}
	return partKind(id)
}

// readSlots reads the hash table. It is taken for a list: so nothing depends on how
// well its entries are spread.
func (p *Package) readSlots(rowsAt, slots, units uint64) error {
	p.rows = map[uint64]uint32{}
	for i := range slots {
		row := p.u32(rowsAt + 4*i)
		if row == 0 {
			continue
		}
		if uint64(row) > units {
			return indexFault(rowsAt+4*i, "row %d of %d", row, units)
		}
		id := binary.LittleEndian.Uint64(p.index[16+8*i:])
		if _, twice := p.rows[id]; !twice {
			p.rows[id] = row - 1
		}
	}
	return nil
}

// u32 reads a number of the index, whose size OpenPackage has checked.
func (p *Package) u32(off uint64) uint32 { return binary.LittleEndian.Uint32(p.index[off:]) }

// Unit is the split unit with an ID; nil if the package has none.
func (p *Package) Unit(id uint64) (*Data, error) {
	row, ok := p.rows[id]
	if !ok {
		return nil, nil
	}
	sec := Sections{Str: p.sec.Str} // the only one that all units share
	for i, kind := range p.parts {
		var from, to *[]byte
		switch kind {
		case partInfo:
			from, to = &p.sec.Info, &sec.Info
		case partAbbrev:
			from, to = &p.sec.Abbrev, &sec.Abbrev
		case partLine:
			from, to = &p.sec.Line, &sec.Line
		case partStrOffsets:
			from, to = &p.sec.StrOffsets, &sec.StrOffsets
		case partRngLists:
			from, to = &p.sec.RngLists, &sec.RngLists
		default:
			continue
		}
		cell := 4 * (uint64(row)*uint64(len(p.parts)) + uint64(i))
		off, size := uint64(p.u32(p.offsets+cell)), uint64(p.u32(p.sizes+cell))
		if off+size > uint64(len(*from)) {
			return nil, indexFault(p.offsets+cell, "[0x%x, 0x%x) of a section with %d bytes", off, off+size, len(*from))
		}
		*to = (*from)[off : off+size : off+size]
	}
	if !spend(&p.left, len(sec.Info)+len(sec.Abbrev)+len(sec.Line)) {
		return nil, indexFault(p.offsets, "the parts of units overlap")
	}
	return New(sec, Options{}), nil
}
