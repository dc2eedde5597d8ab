package dwarf

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// function is a subprogram that holds some of the addresses of a lookup.
type function struct {
	name    funcName
	ranges  []interval.Range
	inlines []inline // in the order of the entries: a caller precedes its inlined callees
}

// inline is an inlined call within a function.
type inline struct {
	// parent is the call that this one was inlined into, or outermost: the function itself.
	parent                         int32
	ranges                         []interval.Range
	name                           funcName
	callFile, callLine, callColumn uint64
}

// outermost is the parent of calls inlined into the function itself.
const outermost = -1

// funcName is the name of a function in the debug information.
type funcName struct {
	name    string // DW_AT_name: unqualified
	linkage string // DW_AT_linkage_name: mangled
	line    uint64 // DW_AT_decl_line
	// home and off locate the entry that has the name.
	home *unit
	off  uint64
}

// containsAny reports whether one of the sorted addresses is in the ranges.
func containsAny(ranges []interval.Range, sorted []uint64) bool {
	for _, r := range ranges {
		i, _ := slices.BinarySearch(sorted, r.Lo)
		if i < len(sorted) && sorted[i] < r.Hi {
			return true
		}
	}
	return false
}

// walker reads the entries of a unit.
type walker struct {
	u *unit
	// claims are the addresses of the lookup. Where functions overlap, the last one wins, as in
	// llvm-symbolizer: gold keeps the entries of all functions that it folds into one (--icf).
	claims *interval.Claims
	// thorough means that the walk enters types. The first walk skips them, because they make up
	// most of a unit and rarely hold code (local classes, lambdas).
	thorough bool
	found    []*function
}

// functionTable is the functions and inlined calls at sorted addresses in one unit.
type functionTable struct {
	found  []*function
	owner  []int32 // by address: index in found, or interval.None
	inline []int32 // by address: index in the function's inlines, or interval.None
}

// functions returns the functions of a unit that hold some of the sorted addresses.
func (u *unit) functions(addrs []uint64) (*functionTable, error) {
	w := walker{u: u, claims: interval.NewClaims(addrs)}
	err := w.run()
	if err == nil && w.claims.Left > 0 {
		w = walker{u: u, claims: interval.NewClaims(addrs), thorough: true}
		err = w.run()
	}
	if err == nil {
		err = u.File.Fault()
	}
	if err == nil && u.data.budget.names.Load() < 0 {
		err = errSharedNames
	}
	return w.table(), err
}

// table returns the function and the innermost inlined call at each address.
func (w *walker) table() *functionTable {
	t := &functionTable{found: w.found, owner: w.claims.Owner, inline: make([]int32, len(w.claims.Owner))}
	held := make([][]int32, len(w.found)) // by function: its addresses
	for i, fn := range t.owner {
		t.inline[i] = interval.None
		if fn != interval.None && len(w.found[fn].inlines) > 0 {
			held[fn] = append(held[fn], int32(i))
		}
	}
	for fn, indices := range held {
		for i, in := range w.found[fn].innermost(w.claims.Addrs, indices) {
			t.inline[indices[i]] = in
		}
	}
	return t
}

// innermost returns the innermost call at each of the addresses with the given indices. It is the
// last entry that holds the address, because callers precede their inlined callees. Of siblings
// that overlap, which only malformed input has, the last one wins.
func (f *function) innermost(addrs []uint64, indices []int32) []int32 {
	mine := make([]uint64, len(indices))
	for i, k := range indices {
		mine[i] = addrs[k]
	}
	c := interval.NewClaims(mine)
	for i := len(f.inlines) - 1; i >= 0 && c.Left > 0; i-- {
		c.Claim(int32(i), f.inlines[i].ranges...)
	}
	return c.Owner
}

// at returns the function at an address, given by its index, and the inlined calls there, innermost
// first.
func (t *functionTable) at(i int) (fn *function, chain []*inline) {
	if t.owner[i] == interval.None {
		return nil, nil
	}
	fn = t.found[t.owner[i]]
	for k := t.inline[i]; k != outermost; k = fn.inlines[k].parent {
		chain = append(chain, &fn.inlines[k])
	}
	return fn, chain
}

// scope is an entry whose children are being read.
type scope struct {
	fn     *function // the function that the children belong to, or nil
	inline int32     // the inlined call that they belong to, in fn.inlines, or outermost
}

// maxDepth limits the nesting of entries.
const maxDepth = 4096

// run finds the functions and assigns each address to one of them.
func (w *walker) run() error {
	err := w.walk()
	for i, fn := range slices.Backward(w.found) {
		w.claims.Claim(int32(i), fn.ranges...)
	}
	return err
}

// walk reads the entries of the unit one by one, with an explicit stack.
func (w *walker) walk() error {
	u := w.u
	c := encoding.Cursor{Data: u.Entries, Off: u.root}
	stack := make([]scope, 0, 64)
	for c.Off < u.end {
		start := c.Off
		code := c.Uleb()
		if code == 0 {
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			if len(stack) == 0 {
				return nil
			}
			continue
		}
		a := u.abbrevs.Get(code)
		if a == nil || len(stack) > maxDepth {
			return formatError(".debug_info", start, "an entry without an abbreviation, or nested too deep")
		}
		var top scope
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

// entry reads one entry. It reports whether to read the children, and returns their scope. If they
// are not to be read, it moves the cursor past them, if the entry states where they end.
func (w *walker) entry(c *encoding.Cursor, a *encoding.Abbrev, top scope, start uint64) (scope, bool) {
	switch a.Tag {
	case encoding.TagSubprogram:
		return w.subprogram(c, a, start)
	case encoding.TagInlined:
		if top.fn != nil {
			return w.inlined(c, a, top, start)
		}
	}
	sibling, _ := w.u.localRef(a.Skip(c, w.u.Shape))
	if !a.Children {
		return top, false
	}
	if w.skippable(a.Tag) && jump(c, sibling) {
		return top, false
	}
	return top, true
}

// skippable reports whether entries of this kind are skipped together with their children.
func (w *walker) skippable(t encoding.Tag) bool {
	switch t {
	case encoding.TagClass, encoding.TagStruct, encoding.TagUnion, encoding.TagEnum, encoding.TagInterface:
		return !w.thorough
	case encoding.TagCompileUnit, encoding.TagPartialUnit, encoding.TagSkeletonUnit, encoding.TagNamespace,
		encoding.TagModule, encoding.TagLexicalBlock, encoding.TagSubprogram, encoding.TagInlined:
		return false
	}
	return !w.thorough
}

// jump moves the cursor forward to a sibling. It returns false if there is none.
func jump(c *encoding.Cursor, sibling uint64) bool {
	if sibling <= c.Off || sibling > uint64(len(c.Data)) {
		return false
	}
	c.Off = sibling
	return true
}

// localRef returns a reference within the file as an offset of .debug_info.
func (u *unit) localRef(v encoding.Value) (uint64, bool) {
	switch v.Form {
	case encoding.FormRef1, encoding.FormRef2, encoding.FormRef4, encoding.FormRef8, encoding.FormRefUdata:
		return u.off + v.U, true
	case encoding.FormRefAddr:
		return v.U, true
	}
	return 0, false
}

// subprogram reads a function. Its children are read if it holds an address of the lookup, and in a
// thorough walk, because other functions may be nested in it.
func (w *walker) subprogram(c *encoding.Cursor, a *encoding.Abbrev, start uint64) (scope, bool) {
	var e encoding.Entry
	a.Read(c, w.u.Shape, &e)
	if c.Failed {
		return scope{}, false
	}
	ranges := w.u.Ranges(&e)
	if !containsAny(ranges, w.claims.Addrs) {
		return scope{}, !w.passOver(c, a, &e)
	}
	fn := &function{name: w.u.nameOf(&e, start, 0), ranges: ranges}
	w.found = append(w.found, fn)
	return scope{fn: fn, inline: outermost}, true
}

func (w *walker) inlined(c *encoding.Cursor, a *encoding.Abbrev, top scope, start uint64) (scope, bool) {
	var e encoding.Entry
	a.Read(c, w.u.Shape, &e)
	if c.Failed {
		return scope{}, false
	}
	ranges := w.u.Ranges(&e)
	// A call without ranges may contain calls with ranges: DWARF 2 cannot describe calls in several
	// pieces, and gcc -gstrict-dwarf omits what it cannot describe.
	// In Go before 1.20, a call may have ranges outside of those of the call that it is inlined into.
	if len(ranges) > 0 && !containsAny(ranges, w.claims.Addrs) && (w.u.language != languageGo || !a.Children) {
		return top, !w.passOver(c, a, &e)
	}
	inner := scope{fn: top.fn, inline: int32(len(top.fn.inlines))}
	top.fn.inlines = append(top.fn.inlines, inline{
		parent: top.inline, ranges: ranges, name: w.u.nameOf(&e, start, 0),
		callFile: e.CallFile.U, callLine: e.CallLine.U, callColumn: e.CallColumn.U,
	})
	return inner, true
}

// languageGo is DW_LANG_Go.
const languageGo = 0x16

// passOver moves the cursor past the children of an entry that holds no address of the lookup,
// unless the walk is thorough or the entry does not state where they end.
func (w *walker) passOver(c *encoding.Cursor, a *encoding.Abbrev, e *encoding.Entry) bool {
	sibling, _ := w.u.localRef(e.Sibling)
	return a.Children && !w.thorough && jump(c, sibling)
}

// maxRefs limits chains of abstract_origin and specification.
const maxRefs = 16

// nameOf returns the names of a function. It follows abstract_origin and specification.
func (u *unit) nameOf(e *encoding.Entry, off uint64, depth int) funcName {
	n := funcName{name: u.nameText(e.Name), linkage: u.nameText(e.Linkage), line: e.DeclLine.U}
	if n.name != "" {
		n.home, n.off = u, off
	}
	for _, ref := range []encoding.Value{e.Origin, e.Spec} {
		if (n.linkage == "" || n.name == "" || n.line == 0) && ref.Form != 0 && depth < maxRefs {
			further := u.nameAt(ref, depth+1)
			if n.name == "" {
				n.name, n.home, n.off = further.name, further.home, further.off
			}
			n.linkage = cmp.Or(n.linkage, further.linkage)
			n.line = cmp.Or(n.line, further.line)
		}
	}
	// The walk reads an entry once, but many entries may refer to the same one.
	if depth > 0 && depth < maxRefs {
		u.data.names.set(off, n)
	}
	return n
}

// errSharedNames is the error if the budget for names is used up.
var errSharedNames = formatError(".debug_str", 0, "too many entries share long names")

// nameText reads a name. It returns "" once the budget is used up.
func (u *unit) nameText(v encoding.Value) string {
	if u.data.budget.names.Load() < 0 {
		return ""
	}
	s := u.Text(v)
	spend(&u.data.budget.names, len(s))
	return s
}

// nameAt returns the names of the entry that a reference leads to, in this file or the
// supplementary one.
func (u *unit) nameAt(ref encoding.Value, depth int) funcName {
	d := u.data
	off, ok := u.localRef(ref)
	if !ok {
		if d.alt == nil || !isAltRef(ref.Form) {
			return funcName{}
		}
		d, off = d.alt, ref.U
	}
	if known, ok := d.names.get(off); ok {
		return known
	}
	target := d.unitAt(off)
	if target == nil {
		return funcName{}
	}
	e, ok := target.entryAt(off)
	if !ok {
		return funcName{}
	}
	return target.nameOf(&e, off, depth)
}

func isAltRef(f encoding.Form) bool {
	return f == encoding.FormGNURefAlt || f == encoding.FormRefSup4 || f == encoding.FormRefSup8
}
