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
	c := encoding.Cursor{Data: u.Entries, Off: u.root}
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
		if holdsAddress(w.u.Ranges(&e), w.pc) {
			w.functions++
			l := &level{name: w.u.nameOf(&e, start, 0), frameBase: w.u.Expression(e.FrameBase, w.pc)}
			return localScope{l, true}, true
		}
		sibling, _ := w.u.localRef(e.Sibling)
		return localScope{}, a.Children && (w.thorough || !jump(c, sibling))
	case encoding.TagInlined:
		if top.level != nil && holdsAddress(w.u.Ranges(&e), w.pc) {
			top.callFile, top.callLine, top.calls = e.CallFile.U, e.CallLine.U, true
			return localScope{&level{name: w.u.nameOf(&e, start, 0), frameBase: top.frameBase}, true}, true
		}
		return localScope{top.level, false}, true
	case encoding.TagLexicalBlock:
		return localScope{top.level, top.level != nil && holdsAddress(w.u.Ranges(&e), w.pc)}, true
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
		level: in, off: start, frameBase: in.frameBase, location: u.Expression(e.Location, w.pc),
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
