package dwarf

import (
	"cmp"
	"math"
	"slices"
)

// place is an entry that qualifies the names within it: a namespace, a class or a function. Offsets count
// from the start of the unit.
type place struct {
	start, end uint32
	parent     int32 // in unit.scopes, or none
}

const none = -1

// QualifiedName is Name behind the namespaces, classes and functions that enclose it, for C++ functions that
// have no linkage name: compilers leave it out where a function is not visible outside of its unit.
func (f *Frame) QualifiedName() string {
	u := f.home
	if u == nil || f.Name == "" || !u.hasNamespaces() {
		return f.Name
	}
	if name, ok := u.qualified.Load(f.off); ok {
		return name.(string)
	}
	name := qualified(u, f.off, f.Name, maxRefs)
	u.qualified.Store(f.off, name)
	return name
}

// qualified puts the scopes of an entry before its name. So many functions within functions are followed.
func qualified(u *unit, off uint64, name string, depth int) string {
	if u == nil || name == "" || !u.hasNamespaces() {
		return name
	}
	places := u.places()
	for i := innermost(places, off-u.off); i != none && depth > 0; i = places[i].parent {
		depth--
		start := u.off + uint64(places[i].start)
		e, ok := u.entryAt(start)
		if !ok {
			return name
		}
		if e.abbrev.tag == tagSubprogram {
			n := u.nameOf(&e, start, 0)
			return cmp.Or(qualified(n.home, n.off, n.name, depth), "(anonymous)") + "::" + name
		}
		name = u.scopeName(&e, start) + "::" + name
	}
	return name
}

// hasNamespaces says whether the unit is one of C++: DW_LANG_C_plus_plus, _03 to _20.
func (u *unit) hasNamespaces() bool {
	switch u.language {
	case 0x04, 0x19, 0x1a, 0x21, 0x2b, 0x2c:
		return true
	}
	return false
}

func (u *unit) scopeName(e *entry, start uint64) string {
	n := u.nameOf(e, start, 0)
	if n.name == "" && e.abbrev.tag == tagNamespace {
		return "(anonymous namespace)"
	}
	return cmp.Or(n.name, "(anonymous class)")
}

// innermost is the last place that holds an offset; they are sorted by start, and nested.
func innermost(places []place, off uint64) int32 {
	i, _ := slices.BinarySearchFunc(places, off, func(p place, off uint64) int { return cmp.Compare(uint64(p.start), off) })
	k := int32(i) - 1
	for k != none && uint64(places[k].end) <= off {
		k = places[k].parent
	}
	return k
}

// places goes through the whole unit once. A fault ends the list: what follows stays unqualified.
func (u *unit) places() []place {
	u.readScopes.Do(func() {
		if u.end-u.off <= math.MaxUint32 {
			u.scopes = u.readPlaces()
		}
	})
	return u.scopes
}

func (u *unit) readPlaces() (out []place) {
	c := cursor{b: u.data.sec.Info[:u.end], off: u.root}
	var open []int32 // for each open entry the innermost place
	for c.off < u.end {
		start := c.off
		code := c.uleb()
		if code == 0 {
			if len(open) < 2 {
				break
			}
			if k := open[len(open)-1]; k != open[len(open)-2] {
				out[k].end = uint32(c.off - u.off)
			}
			open = open[:len(open)-1]
			continue
		}
		a := u.abbrevs.get(code)
		if a == nil || len(open) > maxDepth {
			break
		}
		u.skipEntry(&c, a)
		if c.failed {
			break
		}
		if !a.children {
			continue
		}
		inside := int32(none)
		if len(open) > 0 {
			inside = open[len(open)-1]
		}
		if qualifies(a.tag) {
			out = append(out, place{start: uint32(start - u.off), parent: inside})
			inside = int32(len(out) - 1)
		}
		open = append(open, inside)
	}
	return out
}

func qualifies(t tag) bool {
	switch t {
	case tagNamespace, tagClass, tagStruct, tagUnion, tagInterface, tagSubprogram:
		return true
	}
	return false
}
