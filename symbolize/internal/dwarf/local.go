package dwarf

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/location"
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

// Parts returns the parts of a variable that are in memory.
func (l *Local) Parts(f location.Frame) []location.Part {
	return location.Parts(l.location, l.frameBase, f)
}

// expressionAt returns the expression of an attribute, which may be a list, at an address.
func (u *unit) expressionAt(v encoding.Value, pc uint64) []byte {
	switch v.Form {
	case encoding.FormExprloc, encoding.FormBlock, encoding.FormBlock1:
		return u.block(v)
	case encoding.FormBlock2:
		c := encoding.At(u.data.sec.Info[:u.end], v.U)
		return take(&c, uint64(c.U16()))
	case encoding.FormLoclistx:
		c := encoding.At(u.data.sec.LocLists, u.loclistsBase+v.U*uint64(u.OffsetSize()))
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

// block returns the bytes of a value that consists of some.
func (u *unit) block(v encoding.Value) []byte {
	c := encoding.At(u.data.sec.Info[:u.end], v.U)
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
