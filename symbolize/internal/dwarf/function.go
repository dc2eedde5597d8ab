package dwarf

import (
	"cmp"
	"slices"
)

// function is a subprogram that holds addresses that were asked for.
type function struct {
	ranges  []addrRange
	name    funcName
	inlines []inline // in the order of the entries: a caller precedes what is inlined into it
}

// inline is an inlined call within a function.
type inline struct {
	depth                          int
	ranges                         []addrRange
	name                           funcName
	callFile, callLine, callColumn uint64
}

// funcName is what debug information calls a function.
type funcName struct {
	name    string // DW_AT_name: unqualified
	linkage string // DW_AT_linkage_name: mangled
	line    uint64 // DW_AT_decl_line
}

func contains(ranges []addrRange, a uint64) bool {
	for _, r := range ranges {
		if r.lo <= a && a < r.hi {
			return true
		}
	}
	return false
}

// containsAny says whether one of the sorted addresses lies in the ranges.
func containsAny(ranges []addrRange, sorted []uint64) bool {
	for _, r := range ranges {
		i, _ := slices.BinarySearch(sorted, r.lo)
		if i < len(sorted) && sorted[i] < r.hi {
			return true
		}
	}
	return false
}

// walker goes through the entries of a unit.
type walker struct {
	u     *unit
	addrs []uint64 // sorted: those that are wanted
	// thorough: enter types too. They are skipped at first, for they
	// make up most of a unit and rarely hold code (local classes, lambdas).
	thorough bool
	found    []*function
}

// functions returns the functions of a unit that hold some of the sorted
// addresses.
func (u *unit) functions(addrs []uint64) ([]*function, error) {
	w := walker{u: u, addrs: addrs}
	if err := w.walk(); err != nil {
		return w.found, err
	}
	if !w.coversAll() {
		w = walker{u: u, addrs: addrs, thorough: true}
		if err := w.walk(); err != nil {
			return w.found, err
		}
	}
	if u.data.budget.ranges < 0 {
		return w.found, errSharedRanges
	}
	return w.found, nil
}

func (w *walker) coversAll() bool {
	for _, a := range w.addrs {
		if w.functionOf(a) == nil {
			return false
		}
	}
	return true
}

func (w *walker) functionOf(a uint64) *function { return functionOf(w.found, a) }

func functionOf(found []*function, a uint64) *function {
	for _, f := range found {
		if contains(f.ranges, a) {
			return f
		}
	}
	return nil
}

// scope is an open entry whose children are being read.
type scope struct {
	fn    *function // the function that the children belong to, or nil
	depth int       // of inlining
}

// maxDepth bounds the nesting of entries.
const maxDepth = 4096

// walk reads the entries of the unit one by one with an explicit stack.
func (w *walker) walk() error {
	u := w.u
	c := cursor{b: u.data.sec.Info[:u.end], off: u.root}
	stack := make([]scope, 0, 64)
	for c.off < u.end {
		start := c.off
		code := c.uleb()
		if code == 0 {
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			if len(stack) == 0 {
				return nil
			}
			continue
		}
		a := u.abbrevs.get(code)
		if a == nil || len(stack) > maxDepth {
			return &FormatError{".debug_info", start, "an entry without an abbreviation, or nested too deep"}
		}
		var top scope
		if len(stack) > 0 {
			top = stack[len(stack)-1]
		}
		inner, enter := w.entry(&c, a, top, start)
		if c.failed {
			return &FormatError{".debug_info", start, "an entry runs past the end of its unit"}
		}
		if a.children && enter {
			stack = append(stack, inner)
		} else if len(stack) == 0 {
			return nil
		}
	}
	return nil
}

// entry reads one entry and says whether to read its children, and in which scope. If
// not, the cursor is moved behind them where the entry tells where that is.
func (w *walker) entry(c *cursor, a *abbrev, top scope, start uint64) (scope, bool) {
	switch a.tag {
	case tagSubprogram:
		return w.subprogram(c, a, start)
	case tagInlined:
		if top.fn != nil {
			return w.inlined(c, a, top, start)
		}
	}
	sibling := w.u.skipEntry(c, a)
	if !a.children {
		return top, false
	}
	if w.skippable(a.tag) && jump(c, sibling) {
		return top, false
	}
	return top, true
}

// skippable says whether entries of this kind are passed over with their children.
func (w *walker) skippable(t tag) bool {
	switch t {
	case tagClass, tagStruct, tagUnion, tagEnum, tagInterface:
		return !w.thorough
	case tagCompileUnit, tagPartialUnit, tagSkeletonUnit, tagNamespace, tagModule, tagLexicalBlock, tagSubprogram, tagInlined:
		return false
	}
	return !w.thorough
}

// jump moves the cursor forward to a sibling; false if there is none.
func jump(c *cursor, sibling uint64) bool {
	if sibling <= c.off || sibling > uint64(len(c.b)) {
		return false
	}
	c.off = sibling
	return true
}

// skipEntry passes over the values of an entry and returns its sibling's offset, 0 if it has none.
func (u *unit) skipEntry(c *cursor, a *abbrev) (sibling uint64) {
	for i := range a.ops {
		o := &a.ops[i]
		if o.fixed > 0 {
			c.skip(uint64(o.fixed))
		}
		if o.form == 0 {
			continue
		}
		v := u.read(c, o.form, o.implicit)
		if o.wanted == attrSibling {
			sibling, _ = u.localRef(v)
		}
	}
	return sibling
}

// localRef interprets a reference within the file as an offset of .debug_info.
func (u *unit) localRef(v value) (uint64, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u.off + v.u, true
	case formRefAddr:
		return v.u, true
	}
	return 0, false
}

// subprogram reads a function. Its children matter if it holds a wanted
// address; or, in a thorough walk, because other functions may be nested in it.
func (w *walker) subprogram(c *cursor, a *abbrev, start uint64) (scope, bool) {
	var e entry
	w.u.readEntry(c, a, &e)
	if c.failed {
		return scope{}, false
	}
	ranges := w.u.rangesOf(&e)
	if !containsAny(ranges, w.addrs) {
		return scope{}, !w.passOver(c, a, &e)
	}
	fn := &function{ranges: ranges, name: w.u.nameOf(&e, start, 0)}
	w.found = append(w.found, fn)
	return scope{fn: fn}, true
}

func (w *walker) inlined(c *cursor, a *abbrev, top scope, start uint64) (scope, bool) {
	var e entry
	w.u.readEntry(c, a, &e)
	if c.failed {
		return scope{}, false
	}
	ranges := w.u.rangesOf(&e)
	inner := scope{fn: top.fn, depth: top.depth + 1}
	if !containsAny(ranges, w.addrs) {
		return inner, !w.passOver(c, a, &e)
	}
	top.fn.inlines = append(top.fn.inlines, inline{
		depth: top.depth + 1, ranges: ranges, name: w.u.nameOf(&e, start, 0),
		callFile: e.callFile.u, callLine: e.callLine.u, callColumn: e.callColumn.u,
	})
	return inner, true
}

// passOver moves behind the children of an entry that holds no wanted address, unless the walk is thorough or
// the entry does not tell where they end.
func (w *walker) passOver(c *cursor, a *abbrev, e *entry) bool {
	sibling, _ := w.u.localRef(e.sibling)
	return a.children && !w.thorough && jump(c, sibling)
}

// chain returns the inlined calls at an address, outermost first.
func (f *function) chain(a uint64) []*inline {
	var out []*inline
	for i := range f.inlines {
		in := &f.inlines[i]
		if contains(in.ranges, a) {
			// An entry replaces those that are as deep or deeper: siblings overlap
			// only in faulty input, and the later one wins as in a map.
			for len(out) > 0 && out[len(out)-1].depth >= in.depth {
				out = out[:len(out)-1]
			}
			out = append(out, in)
		}
	}
	return out
}

// maxRefs bounds chains of abstract_origin and specification.
const maxRefs = 16

// nameOf finds the names of a function, following abstract_origin and specification.
func (u *unit) nameOf(e *entry, off uint64, depth int) funcName {
	n := funcName{name: u.str(e.name), linkage: u.str(e.linkage), line: e.declLine.u}
	for _, ref := range []value{e.origin, e.spec} {
		if (n.linkage == "" || n.name == "" || n.line == 0) && ref.form != 0 && depth < maxRefs {
			further := u.nameAt(ref, depth+1)
			n.name = cmp.Or(n.name, further.name)
			n.linkage = cmp.Or(n.linkage, further.linkage)
			n.line = cmp.Or(n.line, further.line)
		}
	}
	// An entry that the walk comes to is seen once; those that it refers to, many times.
	if depth > 0 && depth < maxRefs {
		u.data.names[off] = n
	}
	return n
}

// nameAt is nameOf on the entry that a reference leads to, in this file or the supplementary one.
func (u *unit) nameAt(ref value, depth int) funcName {
	d := u.data
	off, ok := u.localRef(ref)
	if !ok {
		if d.alt == nil || !isAltRef(ref.form) {
			return funcName{}
		}
		d, off = d.alt, ref.u
	}
	if known, ok := d.names[off]; ok {
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

func isAltRef(f form) bool {
	return f == formGNURefAlt || f == formRefSup4 || f == formRefSup8
}
