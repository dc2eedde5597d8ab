package dwarf

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// place is an entry that qualifies the names within it: a namespace, a class or a function. Offsets
// are relative to the start of the unit.
type place struct {
	start, end uint32
	parent     int32 // index in unit.scopes, or none
}

const none = -1

// QualifiedName returns Name qualified by the namespaces, classes and functions that enclose it. It
// is for C++ functions without a linkage name: compilers omit the linkage name of functions that
// are not visible outside of their unit.
func (f *Answer) QualifiedName() string {
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

// qualified puts the scopes of an entry before its name. depth limits the number of scopes.
func qualified(u *unit, off uint64, name string, depth int) string {
	if u == nil || !u.hasNamespaces() {
		return name
	}
	return withScopes(u, off, name, depth)
}

// withScopes does the same for any language.
func withScopes(u *unit, off uint64, name string, depth int) string {
	if name == "" {
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
		if e.Abbrev.Tag == encoding.TagSubprogram {
			n := u.nameOf(&e, start, 0)
			return cmp.Or(qualified(n.home, n.off, n.name, depth), "(anonymous)") + "::" + name
		}
		if u.data.variables && (e.Spec.Form != 0 || e.Signature.Form != 0) { // its own scopes are elsewhere
			outer := u.data.typeName(refOf(u.data.part, start), maxRefs-depth)
			return cmp.Or(outer, "(anonymous class)") + "::" + name
		}
		name = u.scopeName(&e, start) + "::" + name
	}
	return name
}

// hasNamespaces reports whether the language of the unit is C++: DW_LANG_C_plus_plus, _03 to _20.
func (u *unit) hasNamespaces() bool {
	switch u.language {
	case 0x04, 0x19, 0x1a, 0x21, 0x2b, 0x2c:
		return true
	}
	return false
}

// scopeName returns the name of a namespace or class, or what c++filt prints if it has none.
func (u *unit) scopeName(e *encoding.Entry, start uint64) string {
	n := u.nameOf(e, start, 0)
	if n.name == "" && e.Abbrev.Tag == encoding.TagNamespace {
		return "(anonymous namespace)"
	}
	return cmp.Or(n.name, "(anonymous class)")
}

// innermost returns the last place that holds an offset, or none. Places are sorted by start, and
// nested.
func innermost(places []place, off uint64) int32 {
	i, _ := slices.BinarySearchFunc(
		places,
		off,
		func(p place, off uint64) int { return cmp.Compare(uint64(p.start), off) },
	)
	k := int32(i) - 1
	for k != none && uint64(places[k].end) <= off {
		k = places[k].parent
	}
	return k
}

// places returns the places of the unit, which it reads once. A malformed entry ends the list:
// names after it are not qualified.
func (u *unit) places() []place {
	u.readScopes.Do(func() {
		if u.end-u.off <= math.MaxUint32 {
			u.scopes = u.readPlaces()
		}
	})
	return u.scopes
}

func (u *unit) readPlaces() (out []place) {
	c := encoding.Cursor{Data: u.Entries, Off: u.root}
	var open []int32 // by open entry: the innermost place
	for c.Off < u.end {
		start := c.Off
		code := c.Uleb()
		if code == 0 {
			if len(open) < 2 {
				break
			}
			if k := open[len(open)-1]; k != open[len(open)-2] {
				out[k].end = uint32(c.Off - u.off)
			}
			open = open[:len(open)-1]
			continue
		}
		a := u.abbrevs.Get(code)
		if a == nil || len(open) > maxDepth {
			break
		}
		a.Skip(&c, u.Shape)
		if c.Failed {
			break
		}
		if !a.Children {
			continue
		}
		inside := int32(none)
		if len(open) > 0 {
			inside = open[len(open)-1]
		}
		if qualifies(a.Tag) {
			out = append(out, place{start: uint32(start - u.off), parent: inside})
			inside = int32(len(out) - 1)
		}
		open = append(open, inside)
	}
	return out
}

func qualifies(t encoding.Tag) bool {
	switch t {
	case encoding.TagNamespace, encoding.TagClass, encoding.TagStruct, encoding.TagUnion, encoding.TagInterface,
		encoding.TagSubprogram:
		return true
	}
	return false
}
