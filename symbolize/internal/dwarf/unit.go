package dwarf

import (
	"sync"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/values"
)

// unit is a unit of .debug_info: its header and the attributes of its root entry.
type unit struct {
	values.Unit
	data *Data

	off, end uint64 // of the whole unit in .debug_info
	root     uint64 // of its root entry
	kind     uint8
	// signature and typeOff are those of the type of a type unit.
	signature, typeOff uint64
	abbrevs            *encoding.Table

	name, compDir string
	language      uint64 // DW_LANG_*, or 0 if unknown
	readScopes    sync.Once
	scopes        []place  // see places
	qualified     sync.Map // names by offset in .debug_info
	dwoName       string
	dwoID         uint64
	lineOff       uint64
	hasLine       bool
	ranges        []interval.Range
	hasRanges     bool // the root entry lists the addresses of the unit
	isRangeList   bool // as a range list
}

// Unit types, DW_UT_* (DWARF 5 section 7.5.1).
const (
	unitCompile      = 0x01
	unitType         = 0x02
	unitPartial      = 0x03
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// maxUnits limits the units of one file. The smallest possible unit has 12 bytes.
const maxUnits = 1 << 24

// parseUnits reads all unit headers and root entries.
func (d *Data) parseUnits() error {
	for off := uint64(0); off < uint64(len(d.sec.Info)); {
		u, err := d.parseHeader(off)
		if err != nil {
			return err
		}
		if u.isCode() || u.kind == unitPartial || d.variables {
			if err := u.parseRoot(); err != nil {
				return err
			}
		}
		d.units = append(d.units, u)
		off = u.end
		if len(d.units) > maxUnits {
			return formatError(".debug_info", off, "too many units")
		}
	}
	return nil
}

// isCode reports whether the unit can hold functions.
func (u *unit) isCode() bool {
	switch u.kind {
	case unitCompile, unitSkeleton, unitSplitCompile:
		return true
	}
	return false
}

// parseHeader reads a unit header (DWARF 5 section 7.5.1).
func (d *Data) parseHeader(off uint64) (*unit, error) {
	c := encoding.At(d.sec.Info, off)
	u := &unit{Unit: values.Unit{File: &d.sec}, data: d, off: off, kind: unitCompile}
	length := uint64(c.U32())
	if length == 0xffffffff {
		u.Is64, length = true, c.U64()
	}
	if c.Failed || length > uint64(len(d.sec.Info))-c.Off {
		return nil, formatError(".debug_info", off, "a unit is longer than its section")
	}
	u.end = c.Off + length
	u.Entries = d.sec.Info[:u.end]
	c.Data = u.Entries
	u.Version = c.U16()
	abbrevOff := u.parseVersioned(&c)
	u.root = c.Off
	if c.Failed || u.Version < 2 || u.Version > 5 {
		return nil, formatError(".debug_info", off, "a unit of unknown version or too short")
	}
	if u.AddrSize != 8 && u.AddrSize != 4 {
		return nil, formatError(".debug_info", off, "a unit with an address size other than 4 or 8")
	}
	var err error
	u.abbrevs, err = d.abbrevsAt(abbrevOff, u.Shape)
	return u, err
}

func (u *unit) parseVersioned(c *encoding.Cursor) (abbrevOff uint64) {
	if u.Version < 5 {
		abbrevOff = c.Word(u.Is64)
		u.AddrSize = c.U8()
		if u.data.part == inTypes {
			u.kind = unitType
			u.parseSignature(c)
		}
		return abbrevOff
	}
	u.kind = c.U8()
	u.AddrSize = c.U8()
	abbrevOff = c.Word(u.Is64)
	switch u.kind {
	case unitSkeleton, unitSplitCompile:
		u.dwoID = c.U64()
	case unitType, unitSplitType:
		u.parseSignature(c)
	}
	return abbrevOff
}

func (u *unit) parseSignature(c *encoding.Cursor) { u.signature, u.typeOff = c.U64(), c.Word(u.Is64) }

// abbrevKey identifies a table: the same bytes compile to another table for another unit shape.
type abbrevKey struct {
	off   uint64
	shape encoding.Shape
}

func (d *Data) abbrevsAt(off uint64, shape encoding.Shape) (*encoding.Table, error) {
	key := abbrevKey{off, shape}
	if t, ok := d.abbrevs[key]; ok {
		return t, nil
	}
	if d.budget.abbrevs.Load() < 0 {
		return nil, formatError(".debug_abbrev", off, "too many overlapping tables")
	}
	parse := encoding.ParseTable
	if d.variables {
		parse = encoding.ParseVariableTable
	}
	t, err := parse(d.sec.Abbrev, off, shape)
	if err != nil {
		return nil, err
	}
	d.abbrevs[key] = t
	d.budget.abbrevs.Add(-int64(t.Size))
	return t, nil
}

// parseRoot reads the root entry. It reads the bases before the attributes that depend on them.
func (u *unit) parseRoot() error {
	e, ok := u.entryAt(u.root)
	if !ok {
		return formatError(".debug_info", u.root, "a malformed root entry")
	}
	u.ReadBases(&e, u.kind == unitSplitCompile)
	u.name = u.Text(e.Name)
	u.compDir = u.Text(e.CompDir)
	u.language = e.Language.U
	u.dwoName = u.Text(e.DwoName)
	if e.DwoID.Form != 0 {
		u.dwoID = e.DwoID.U
	}
	u.lineOff, u.hasLine = e.StmtList.U, e.StmtList.Form != 0
	u.LowPC, _ = u.Address(e.LowPC)
	u.ranges = u.Ranges(&e)
	u.isRangeList = e.Ranges.Form != 0
	u.hasRanges = u.isRangeList || e.HighPC.Form != 0
	return nil
}

// entryAt reads the entry at an offset. ok is false for a malformed entry and for the null entry
// that ends a list.
func (u *unit) entryAt(off uint64) (e encoding.Entry, ok bool) {
	if off < u.root || off >= u.end {
		return encoding.Entry{}, false
	}
	c := encoding.Cursor{Data: u.Entries, Off: off}
	a := u.abbrevs.Get(c.Uleb())
	if a == nil {
		return encoding.Entry{}, false
	}
	a.Read(&c, u.Shape, &e)
	return e, !c.Failed
}
