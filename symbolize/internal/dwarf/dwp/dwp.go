// Package dwp reads DWARF package files, <binary>.dwp: the split units of many .dwo files and their
// index.
//
// Sources: DWARF 5 section 7.3.5; for version 2 of the index, which belongs to DWARF 4,
// gcc.gnu.org/wiki/DebugFissionDWP.
package dwp

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Package is an open package file.
type Package struct {
	sec   dwarf.Sections // of the whole package
	index []byte
	rows  map[uint64]uint32 // by ID of the split unit: the row, from 0
	parts []partKind        // by column: the section that the parts belong to
	// offsets and sizes are the offsets of the two tables of parts.
	offsets, sizes uint64
	// left is the budget of bytes. Parts overlap only in crafted files.
	left atomic.Int64
}

// partKind is the number of a section in the index, DW_SECT_* (DWARF 5 section 7.3.5.3, table 7.1).
type partKind uint32

const (
	partInfo       partKind = 1
	partAbbrev     partKind = 3
	partLine       partKind = 4
	partStrOffsets partKind = 6
	partRngLists   partKind = 8 // .debug_macro in version 2
)

const (
	// maxParts limits the columns of an index. The format has eight kinds.
	maxParts = 64
	// maxReads is the number of times that all units together may contain the sections. minBudget
	// is the minimum budget in bytes, for small sections.
	maxReads  = 8
	minBudget = 1 << 16
)

// IndexSection is the section of a package that holds the index of its units.
const IndexSection = ".debug_cu_index"

func indexFault(off uint64, format string, args ...any) error {
	return &dwarf.FormatError{Section: IndexSection, Offset: off, Msg: fmt.Sprintf(format, args...)}
}

// Open reads the index of a package. sec holds the .dwo sections of the package.
func Open(index []byte, sec dwarf.Sections) (*Package, error) {
	c := encoding.Cursor{Data: index}
	version := c.U32() // version 5 of the index has 16 bits and 16 bits of padding
	columns, units, slots := uint64(c.U32()), uint64(c.U32()), uint64(c.U32())
	if c.Failed {
		return nil, indexFault(0, "a header needs 16 bytes, there are %d", len(index))
	}
	if version != 2 && version&0xffff != 5 {
		return nil, indexFault(0, "version %d is not supported", version)
	}
	p := &Package{sec: sec, index: index}
	p.left.Store(int64(minBudget + maxReads*(len(sec.Info)+len(sec.Abbrev)+len(sec.Line))))
	rowsAt := c.Off + 8*slots
	partsAt := rowsAt + 4*slots
	p.offsets = partsAt + 4*columns
	p.sizes = p.offsets + 4*columns*units
	if columns > maxParts || p.sizes+4*columns*units > uint64(len(index)) {
		return nil, indexFault(
			0,
			"%d units of %d sections in %d slots do not fit into %d bytes",
			units,
			columns,
			slots,
			len(index),
		)
	}
	for i := range columns {
		p.parts = append(p.parts, p.kind(version, p.u32(partsAt+4*i)))
	}
	return p, p.readSlots(rowsAt, slots, units)
}

// kind returns the kind of a column, or 0 for a section that lookups do not need.
func (p *Package) kind(version, id uint32) partKind {
	if version == 2 && partKind(id) == partRngLists {
		return 0
	}
	return partKind(id)
}

// readSlots reads the hash table as a list, so that the distribution of its entries does not
// matter.
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

// u32 reads a number of the index. Open has checked the size of the index.
func (p *Package) u32(off uint64) uint32 { return binary.LittleEndian.Uint32(p.index[off:]) }

// Unit returns the sections of the split unit with an ID. ok is false if the package does not have
// it.
func (p *Package) Unit(id uint64) (sec dwarf.Sections, ok bool, err error) {
	row, ok := p.rows[id]
	if !ok {
		return sec, false, nil
	}
	sec = dwarf.Sections{Str: p.sec.Str} // all units share this section
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
			err := indexFault(p.offsets+cell, "[0x%x, 0x%x) of a section with %d bytes", off, off+size, len(*from))
			return dwarf.Sections{}, false, err
		}
		*to = (*from)[off : off+size : off+size]
	}
	if p.left.Add(-int64(len(sec.Info)+len(sec.Abbrev)+len(sec.Line))) < 0 {
		return dwarf.Sections{}, false, indexFault(p.offsets, "the parts of units overlap")
	}
	return sec, true, nil
}
