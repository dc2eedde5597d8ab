package dwarf

import (
	"sync"

	"github.com/heaplapse/heaplapse/internal/interval"
)

// unit is a unit of .debug_info: its header and the attributes of its root entry.
type unit struct {
	unitShape
	data *Data

	off, end uint64 // of the whole unit in .debug_info
	root     uint64 // of its root entry
	kind     uint8
	abbrevs  *abbrevTable

	name, compDir string
	language      uint64 // DW_LANG_*, or 0 if unknown
	readScopes    sync.Once
	scopes        []place  // see places
	qualified     sync.Map // names by offset in .debug_info
	dwoName       string
	dwoID         uint64
	lineOff       uint64
	hasLine       bool
	lowPC         uint64
	ranges        []interval.Range
	hasRanges     bool // the root entry lists the addresses of the unit
	isRangeList   bool // as a range list

	strOffsetsBase, addrBase, rnglistsBase, rangesBase uint64
	hasStrOffsets                                      bool
	// splitRangesBase is the rangesBase of the skeleton's split unit. DW_AT_GNU_ranges_base does
	// not apply to the DW_AT_ranges of the skeleton itself.
	splitRangesBase uint64
}

// maxUnits limits the units of one file. The smallest possible unit has 12 bytes.
const maxUnits = 1 << 24

// parseUnits reads all unit headers and root entries.
func (d *Data) parseUnits() error {
	for off := uint64(0); off < uint64(len(d.sec.Info)); {
		u, err := d.parseHeader(off)
		if err != nil {
			return err
		}
		if u.isCode() || u.kind == unitPartial {
			if err := u.parseRoot(); err != nil {
				return err
			}
		}
		d.units = append(d.units, u)
		off = u.end
		if len(d.units) > maxUnits {
			return &FormatError{".debug_info", off, "too many units"}
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
	c := at(d.sec.Info, off)
	u := &unit{data: d, off: off, kind: unitCompile}
	length := uint64(c.u32())
	if length == 0xffffffff {
		u.is64, length = true, c.u64()
	}
	if c.failed || length > uint64(len(d.sec.Info))-c.off {
		return nil, &FormatError{".debug_info", off, "a unit is longer than its section"}
	}
	u.end = c.off + length
	c.b = d.sec.Info[:u.end]
	u.version = c.u16()
	abbrevOff := u.parseVersioned(&c)
	u.root = c.off
	if c.failed || u.version < 2 || u.version > 5 {
		return nil, &FormatError{".debug_info", off, "a unit of unknown version or too short"}
	}
	if u.addrSize != 8 && u.addrSize != 4 {
		return nil, &FormatError{".debug_info", off, "a unit with an address size other than 4 or 8"}
	}
	var err error
	u.abbrevs, err = d.abbrevsAt(abbrevOff, u.unitShape)
	return u, err
}

func (u *unit) parseVersioned(c *cursor) (abbrevOff uint64) {
	if u.version < 5 {
		abbrevOff = c.word(u.is64)
		u.addrSize = c.u8()
		return abbrevOff
	}
	u.kind = c.u8()
	u.addrSize = c.u8()
	abbrevOff = c.word(u.is64)
	switch u.kind {
	case unitSkeleton, unitSplitCompile:
		u.dwoID = c.u64()
	case unitType, unitSplitType:
		c.skip(8)
		c.word(u.is64)
	}
	return abbrevOff
}

// abbrevKey identifies a table: the same bytes compile to another table for another unit shape.
type abbrevKey struct {
	off   uint64
	shape unitShape
}

func (d *Data) abbrevsAt(off uint64, shape unitShape) (*abbrevTable, error) {
	key := abbrevKey{off, shape}
	if t, ok := d.abbrevs[key]; ok {
		return t, nil
	}
	if d.budget.abbrevs.Load() < 0 {
		return nil, &FormatError{".debug_abbrev", off, "too many overlapping tables"}
	}
	t, err := parseAbbrevs(d.sec.Abbrev, off, shape)
	if err != nil {
		return nil, err
	}
	d.abbrevs[key] = t
	d.budget.abbrevs.Add(-int64(t.size))
	return t, nil
}

// parseRoot reads the root entry. It reads the bases before the attributes that depend on them.
func (u *unit) parseRoot() error {
	e, ok := u.entryAt(u.root)
	if !ok {
		return &FormatError{".debug_info", u.root, "a malformed root entry"}
	}
	u.setBases(&e)
	u.name = u.str(e.name)
	u.compDir = u.str(e.compDir)
	u.language = e.language.u
	u.dwoName = u.str(e.dwoName)
	if e.dwoID.form != 0 {
		u.dwoID = e.dwoID.u
	}
	u.lineOff, u.hasLine = e.stmtList.u, e.stmtList.form != 0
	u.lowPC, _ = u.addr(e.lowPC)
	u.ranges = u.rangesOf(&e)
	u.isRangeList = e.ranges.form != 0
	u.hasRanges = u.isRangeList || e.highPC.form != 0
	return nil
}

func (u *unit) setBases(e *entry) {
	u.strOffsetsBase, u.hasStrOffsets = e.strOffsetsBase.u, e.strOffsetsBase.form != 0
	u.addrBase = e.addrBase.u
	u.rnglistsBase = e.rnglistsBase.u
	u.splitRangesBase = e.rangesBase.u
	if u.version < 5 {
		return
	}
	// Split units have no bases: their tables begin after the header.
	if !u.hasStrOffsets {
		u.strOffsetsBase = u.headerSize(4)
	}
	if e.rnglistsBase.form == 0 && u.kind == unitSplitCompile {
		u.rnglistsBase = u.headerSize(8)
	}
}

// headerSize returns the size of a table header: the length field and a number of other bytes.
func (u *unit) headerSize(further uint64) uint64 {
	if u.is64 {
		return 12 + further
	}
	return 4 + further
}

// entry is a debugging information entry: its tag and the values that lookups need.
type entry struct {
	abbrev *abbrev
	next   uint64 // offset after the entry

	sibling, name, linkage, lowPC, highPC, ranges, origin, spec value
	declLine, callFile, callLine, callColumn                    value
	stmtList, language, compDir, dwoName, dwoID                 value
	strOffsetsBase, addrBase, rnglistsBase, rangesBase          value
}

// entryAt reads the entry at an offset. ok is false for a malformed entry and for the null entry
// that ends a list.
func (u *unit) entryAt(off uint64) (e entry, ok bool) {
	if off < u.root || off >= u.end {
		return entry{}, false
	}
	c := cursor{b: u.data.sec.Info[:u.end], off: off}
	a := u.abbrevs.get(c.uleb())
	if a == nil {
		return entry{}, false
	}
	u.readEntry(&c, a, &e)
	return e, !c.failed
}

// readEntry reads the values that follow an abbreviation code.
func (u *unit) readEntry(c *cursor, a *abbrev, e *entry) {
	*e = entry{abbrev: a}
	for i := range a.ops {
		o := &a.ops[i]
		if o.fixed > 0 {
			c.skip(uint64(o.fixed))
		}
		if o.form == 0 {
			break
		}
		v := u.read(c, o.form, o.implicit)
		if o.wanted != 0 {
			e.set(o.wanted, v)
		}
	}
	e.next = c.off
}

func (e *entry) set(a attr, v value) {
	switch a {
	case attrSibling:
		e.sibling = v
	case attrName:
		e.name = v
	case attrLinkageName:
		e.linkage = v
	case attrLowPC:
		e.lowPC = v
	case attrHighPC:
		e.highPC = v
	case attrRanges:
		e.ranges = v
	case attrAbstractOrigin:
		e.origin = v
	case attrSpecification:
		e.spec = v
	case attrDeclLine:
		e.declLine = v
	case attrCallFile:
		e.callFile = v
	case attrCallLine:
		e.callLine = v
	case attrCallColumn:
		e.callColumn = v
	default:
		e.setUnit(a, v)
	}
}

func (e *entry) setUnit(a attr, v value) {
	switch a {
	case attrStmtList:
		e.stmtList = v
	case attrLanguage:
		e.language = v
	case attrCompDir:
		e.compDir = v
	case attrDwoName:
		e.dwoName = v
	case attrGNUDwoID:
		e.dwoID = v
	case attrStrOffsetsBase:
		e.strOffsetsBase = v
	case attrAddrBase:
		e.addrBase = v
	case attrRnglistsBase:
		e.rnglistsBase = v
	case attrGNURangesBase:
		e.rangesBase = v
	}
}
