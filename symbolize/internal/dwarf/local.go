package dwarf

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Local is a variable of a function while the function is at one address.
type Local struct {
	Variable
	Name      string
	Parameter bool
	// Function is the unqualified name of the function that has the variable, and Linkage its mangled name, or "". The
	// function may be inlined.
	Function, Linkage string

	level               *level
	off                 uint64 // of the entry
	location, frameBase []byte
}

// QualifiedFunction returns Function qualified by what encloses it.
func (l *Local) QualifiedFunction() string {
	f := Answer{Name: l.Function, home: l.level.name.home, off: l.level.name.off}
	return f.QualifiedName()
}

const (
	// maxLocals limits the variables at an address.
	maxLocals = 1 << 12
	// maxLocalEntries limits the entries that are read for all calls of Locals: some seconds of work.
	maxLocalEntries = 1 << 25
)

var errManyLocals = formatError(".debug_info", 0, "too many entries for local variables")

// Locals returns the variables and parameters of the functions at an address, those of a caller before those of what
// is inlined into it. Left out are those whose block does not have the address, and those that are defined
// behind it. Options.Variables must be set. Split units are not searched.
func (d *Data) Locals(pc uint64) ([]Local, error) {
	d.renewBudget()
	units := d.unranged
	if u := d.index.find(pc); u != nil {
		units = []*unit{u}
	}
	for _, u := range units {
		list, err := u.locals(pc)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}

// locals reads the entries of a unit. Those of types, and of functions that do not have the address, are only
// read if the function is not found elsewhere.
func (u *unit) locals(pc uint64) ([]Local, error) {
	for _, thorough := range []bool{false, true} {
		w := localWalker{u: u, pc: pc, thorough: thorough}
		if err := w.walk(); err != nil {
			return nil, err
		}
		switch {
		case w.functions > 1: // the linker has folded functions with equal code: it is not known which one it is
			return nil, nil
		case w.functions == 1:
			return w.defined()
		}
	}
	return nil, nil
}

// level is a function, or one that is inlined.
type level struct {
	name      funcName
	frameBase []byte
	// callFile and callLine are where the next inlined function is called that has the address.
	callFile, callLine uint64
	calls              bool // there is one
}

// localScope is an entry whose children are being read.
type localScope struct {
	*level      // nil outside of functions that have the address
	holds  bool // the children are in scope at the address
}

// localWalker looks for the variables at an address.
type localWalker struct {
	u         *unit
	pc        uint64
	thorough  bool
	functions int // that have the address
	found     []Local
}

func (w *localWalker) walk() error {
	u := w.u
	c := encoding.Cursor{Data: u.data.sec.Info[:u.end], Off: u.root}
	var stack []localScope
	for c.Off < u.end && len(w.found) < maxLocals {
		if u.data.localEntries++; u.data.localEntries > maxLocalEntries {
			return errManyLocals
		}
		start := c.Off
		code := c.Uleb()
		if code == 0 {
			if len(stack) < 2 {
				return nil
			}
			stack = stack[:len(stack)-1]
			continue
		}
		a := u.abbrevs.Get(code)
		if a == nil || len(stack) > maxDepth {
			return formatError(".debug_info", start, "an entry without an abbreviation, or nested too deep")
		}
		var top localScope
		if len(stack) > 0 {
			top = stack[len(stack)-1]
		}
		inner, enter := w.entry(&c, a, top, start)
		if c.Failed {
			return formatError(".debug_info", start, "an entry runs past the end of its unit")
		}
		if a.Children && enter {
			stack = append(stack, inner)
		} else if len(stack) == 0 {
			return nil
		}
	}
	return nil
}

// entry reads one entry. It reports whether to read the children, and returns their scope.
func (w *localWalker) entry(c *encoding.Cursor, a *encoding.Abbrev, top localScope, start uint64) (localScope, bool) {
	var e encoding.Entry
	switch a.Tag {
	case encoding.TagSubprogram, encoding.TagInlined, encoding.TagLexicalBlock, encoding.TagVariable,
		encoding.TagParameter:
		a.Read(c, w.u.Shape, &e)
	default:
		sibling, _ := w.u.localRef(a.Skip(c, w.u.Shape))
		return localScope{}, a.Children && (w.entersOther(a.Tag) || !jump(c, sibling))
	}
	if c.Failed {
		return localScope{}, false
	}
	switch a.Tag {
	case encoding.TagSubprogram:
		if holdsAddress(w.u.rangesOf(&e), w.pc) {
			w.functions++
			l := &level{name: w.u.nameOf(&e, start, 0), frameBase: w.u.expressionAt(e.FrameBase, w.pc)}
			return localScope{l, true}, true
		}
		sibling, _ := w.u.localRef(e.Sibling)
		return localScope{}, a.Children && (w.thorough || !jump(c, sibling))
	case encoding.TagInlined:
		if top.level != nil && holdsAddress(w.u.rangesOf(&e), w.pc) {
			top.callFile, top.callLine, top.calls = e.CallFile.U, e.CallLine.U, true
			return localScope{&level{name: w.u.nameOf(&e, start, 0), frameBase: top.frameBase}, true}, true
		}
		return localScope{top.level, false}, true
	case encoding.TagLexicalBlock:
		return localScope{top.level, top.level != nil && holdsAddress(w.u.rangesOf(&e), w.pc)}, true
	}
	if top.holds {
		w.variable(e, top.level, start)
	}
	return localScope{}, true
}

// entersOther reports whether entries of a kind may have functions.
func (w *localWalker) entersOther(t encoding.Tag) bool {
	switch t {
	case encoding.TagCompileUnit, encoding.TagPartialUnit, encoding.TagSkeletonUnit, encoding.TagNamespace,
		encoding.TagModule:
		return true
	}
	return w.thorough
}

func holdsAddress(ranges []interval.Range, pc uint64) bool {
	return slices.ContainsFunc(ranges, func(r interval.Range) bool { return r.Lo <= pc && pc < r.Hi })
}

// variable adds a variable that has a location.
func (w *localWalker) variable(e encoding.Entry, in *level, start uint64) {
	u := w.u
	l := Local{
		Parameter: e.Abbrev.Tag == encoding.TagParameter, Function: in.name.name, Linkage: in.name.linkage,
		level: in, off: start, frameBase: in.frameBase, location: u.expressionAt(e.Location, w.pc),
	}
	if len(l.location) == 0 {
		return
	}
	w.found = append(w.found, l)
}

// defined describes the variables that were found, without those that are defined behind the address: they do not
// exist yet, or in a loop no more.
func (w *localWalker) defined() (list []Local, err error) {
	u := w.u
	if !u.hasLine || len(w.found) == 0 {
		return nil, nil
	}
	table, err := u.lineTable()
	if err != nil {
		return nil, err
	}
	rows, err := table.Rows([]uint64{w.pc})
	if err != nil || !rows[0].OK {
		return nil, err
	}
	for _, l := range w.found {
		e, ok := u.entryAt(l.off)
		if !ok {
			continue
		}
		l.Name, l.Variable = u.localName(e), u.describe(e).variable()
		file, line := table.FileName(rows[0].File), clampInt(rows[0].Line)
		if l.level.calls {
			file, line = table.FileName(l.level.callFile), clampInt(l.level.callLine)
		}
		exists := l.Parameter || l.File != file || l.Line <= line
		if l.Name != "" && l.Ref != 0 && l.File != "" && exists {
			list = append(list, l)
		}
	}
	return list, nil
}

// localName returns the name of a variable, or of the one from which it originates.
func (u *unit) localName(e encoding.Entry) string {
	for range maxRefs {
		if name := u.nameText(e.Name); name != "" {
			return name
		}
		ref := e.Origin
		if ref.Form == 0 {
			ref = e.Spec
		}
		var ok bool
		if e, u, ok = u.follow(ref); !ok {
			return ""
		}
	}
	return ""
}

// Frame has the values on which the locations of variables depend.
type Frame struct {
	// CFA is the address of the frame (DWARF 5 section 6.4).
	CFA uint64
	// Registers has those that are known, by their numbers.
	Registers map[uint64]uint64
}

// Part is a part of a variable that is in memory.
type Part struct {
	// Offset is that in the variable.
	Offset uint64
	// Size is in bytes, or 0 if the part is the whole variable.
	Size    uint64
	Address uint64
}

// Parts returns the parts of a variable that are in memory.
func (l *Local) Parts(f Frame) (list []Part) {
	c := encoding.Cursor{Data: l.location}
	base, hasBase := frameBase(l.frameBase, f)
	offset := uint64(0)
	for range maxLocals {
		addr, inMemory, known := location(&c, f, base, hasBase)
		switch {
		case !known:
			return list
		case c.Off == uint64(len(c.Data)):
			if inMemory && offset == 0 {
				list = append(list, Part{Address: addr})
			}
			return list
		}
		c.U8() // DW_OP_piece
		size := c.Uleb()
		if c.Failed || size > 1<<32 {
			return list
		}
		if inMemory && size > 0 {
			list = append(list, Part{Offset: offset, Size: size, Address: addr})
		}
		offset += size
	}
	return list
}

// frameBase returns what DW_AT_frame_base stands for.
func frameBase(expression []byte, f Frame) (addr uint64, ok bool) {
	c := encoding.Cursor{Data: expression}
	switch op := c.U8(); {
	case op == opCallFrameCFA:
		addr, ok = f.CFA, true
	case op >= opReg0 && op <= opReg31:
		addr, ok = f.Registers[uint64(op-opReg0)]
	case op >= opBreg0 && op <= opBreg31:
		addr, ok = f.Registers[uint64(op-opBreg0)]
		addr += uint64(c.Sleb())
	}
	return addr, ok && !c.Failed && c.Off == uint64(len(expression))
}

// location reads a location up to the end or to DW_OP_piece. It is in memory if it is an address relative to the frame
// or to a register. known is false if something is not understood.
func location(c *encoding.Cursor, f Frame, base uint64, hasBase bool) (addr uint64, inMemory, known bool) {
	for n := 0; c.Off < uint64(len(c.Data)); n++ {
		op := c.Data[c.Off]
		if op == opPiece {
			return addr, inMemory, true
		}
		c.U8()
		switch {
		case n == 0 && op == opFbreg:
			addr, inMemory = base+uint64(c.Sleb()), hasBase
		case n == 0 && op >= opBreg0 && op <= opBreg31:
			addr, inMemory = f.Registers[uint64(op-opBreg0)]
			addr += uint64(c.Sleb())
		case op == opPlusUconst:
			addr += c.Uleb()
		default:
			inMemory = false
			if !skipOperands(c, op) {
				return 0, false, false
			}
		}
		if c.Failed {
			return 0, false, false
		}
	}
	return addr, inMemory, true
}

// Further operations of location expressions.
const (
	opDeref         = 0x06
	opConst1u       = 0x08
	opConst8s       = 0x0f
	opConstu        = 0x10
	opConsts        = 0x11
	opAnd           = 0x1a
	opPlus          = 0x22
	opShl           = 0x24
	opXor           = 0x27
	opLit0          = 0x30
	opReg0          = 0x50
	opReg31         = 0x6f
	opBreg0         = 0x70
	opBreg31        = 0x8f
	opRegx          = 0x90
	opFbreg         = 0x91
	opPiece         = 0x93
	opCallFrameCFA  = 0x9c
	opImplicitValue = 0x9e
	opStackValue    = 0x9f
	opEntryValue    = 0xa3
	opGNUEntryValue = 0xf3
)

// skipOperands moves behind the operands of an operation whose result is not wanted.
func skipOperands(c *encoding.Cursor, op byte) bool {
	switch {
	case op == opDeref, op >= opAnd && op <= opPlus, op >= opShl && op <= opXor, op >= opLit0 && op <= opReg31,
		op == opStackValue:
	case op == opAddr:
		return false
	case op >= opConst1u && op <= opConst8s:
		c.Skip(1 << ((op - opConst1u) / 2))
	case op == opConstu, op == opRegx:
		c.Uleb()
	case op == opConsts, op >= opBreg0 && op <= opBreg31, op == opFbreg:
		c.Sleb()
	case op == opImplicitValue, op == opEntryValue, op == opGNUEntryValue:
		c.Skip(c.Uleb())
	default:
		return false
	}
	return true
}

// expressionAt returns the expression of an attribute, which may be a list, at an address.
func (u *unit) expressionAt(v encoding.Value, pc uint64) []byte {
	c := encoding.At(u.data.sec.Info[:u.end], v.U)
	switch v.Form {
	case encoding.FormExprloc, encoding.FormBlock:
		return take(&c, c.Uleb())
	case encoding.FormBlock1:
		return take(&c, uint64(c.U8()))
	case encoding.FormBlock2:
		return take(&c, uint64(c.U16()))
	case encoding.FormLoclistx:
		c = encoding.At(u.data.sec.LocLists, u.loclistsBase+v.U*uint64(u.OffsetSize()))
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

// take returns the next bytes.
func take(c *encoding.Cursor, size uint64) []byte {
	start := c.Off
	if c.Skip(size); c.Failed {
		return nil
	}
	return c.Data[start:c.Off]
}

// fromOldList reads a list of .debug_loc (DWARF 4 section 2.6.2).
func (u *unit) fromOldList(off, pc uint64) []byte {
	base, escape := u.lowPC, ^uint64(0)
	if u.AddrSize == 4 {
		escape = 1<<32 - 1
	}
	c := encoding.At(u.data.sec.Loc, off)
	for spend(&u.data.budget.locations, 1) {
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
func (u *unit) fromList(off, pc uint64) (byDefault []byte) {
	c := encoding.At(u.data.sec.LocLists, off)
	base := u.lowPC
	for spend(&u.data.budget.locations, 1) && !c.Failed {
		var lo, hi uint64
		kind := c.U8()
		switch kind {
		case 0x01: // base_addressx
			base, _ = u.indexedAddr(c.Uleb())
			continue
		case 0x06: // base_address
			base = c.Uint(u.AddrSize)
			continue
		case 0x09: // GNU_view_pair
			c.Uleb()
			c.Uleb()
			continue
		case 0x02: // startx_endx
			lo, _ = u.indexedAddr(c.Uleb())
			hi, _ = u.indexedAddr(c.Uleb())
		case 0x03: // startx_length
			lo, _ = u.indexedAddr(c.Uleb())
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
