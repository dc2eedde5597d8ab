package dwarf

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// types has what is read once for all types of a part.
type types struct {
	once       sync.Once
	signatures map[uint64]TypeRef
	defined    []definition // by hash; those of inInfo are those of all parts
	ready      bool
}

// definition is a structure and the hash of its name without scopes.
type definition struct {
	hash uint64
	ref  TypeRef
}

// Definition returns the structure with a qualified name, as [Type.Name] or a demangler writes it. ok is false if
// there is none, or if there are different ones. mangled is the mangled name, or "" if it is not known.
func (d *Data) Definition(name, mangled string) (ref TypeRef, ok bool) {
	name = asGCC(canonical(name))
	hash := hashOf(name)
	list := d.definitions()
	i, _ := slices.BinarySearchFunc(list, hash, func(e definition, h uint64) int { return cmp.Compare(e.hash, h) })
	different := false
	for ; i < len(list) && list[i].hash == hash; i++ {
		e, u, found := d.entry(list[i].ref)
		switch {
		case !found:
		case hasLambda(name) && u.declares(list[i].ref, mangled):
			return list[i].ref, true
		case canonical(u.qualifiedType(list[i].ref, &e, maxRefs)) != name:
		case ref == 0:
			ref = list[i].ref
		case hasLambda(name) || !sameLayout(d.Type(list[i].ref), d.Type(ref)):
			different = true
		}
	}
	if different {
		return 0, false
	}
	return ref, ref != 0
}

// sameLayout reports whether structures with the same name are the same. Programs in C may have different ones.
func sameLayout(a, b Type) bool {
	return a.Size == b.Size && slices.EqualFunc(a.Members, b.Members, func(a, b Member) bool {
		return a.Name == b.Name && a.Offset == b.Offset
	})
}

// hashOf returns the hash of a canonical name without its scopes, and without arguments that are called differently.
func hashOf(name string) uint64 {
	h := fnv.New64a()
	name = unqualified(name)
	if hasLambda(name) {
		name, _, _ = strings.Cut(name, "<")
	}
	_, _ = io.WriteString(h, name)
	return h.Sum64()
}

// unqualified removes the scopes: "a::b<c::d>" is "b<c::d>".
func unqualified(name string) string {
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')':
			depth++
		case '<', '(':
			depth--
		case ':':
			if depth == 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// canonicalWords has the names of numbers as demanglers write them.
var canonicalWords = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long",
	"short unsigned int", "unsigned short", "long long int", "long long", "long int", "long", "short int", "short",
)

// canonical removes the differences between what compilers and demanglers write.
func canonical(name string) string {
	if !strings.ContainsAny(name, " ") {
		return name
	}
	return strings.ReplaceAll(canonicalWords.Replace(name), " ", "")
}

// definitions lists the structures of all parts, by hash.
func (d *Data) definitions() []definition {
	if d.types.ready {
		return d.types.defined
	}
	d.types.ready = true
	for _, p := range d.parts {
		if p == nil {
			continue
		}
		for _, u := range p.units {
			d.types.defined = u.appendDefinitions(d.types.defined)
		}
	}
	slices.SortFunc(d.types.defined, func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ref, b.ref))
	})
	return d.types.defined
}

// appendDefinitions adds the structures of a unit, up to the first malformed entry.
func (u *unit) appendDefinitions(list []definition) []definition {
	c := encoding.Cursor{Data: u.Entries, Off: u.root}
	for c.Off < u.end {
		start := c.Off
		code := c.Uleb()
		if code == 0 && !c.Failed {
			continue
		}
		a := u.abbrevs.Get(code)
		if a == nil || c.Failed {
			return list
		}
		if k := kindOf(a.Tag); k != Struct && k != Union {
			a.Skip(&c, u.Shape)
			continue
		}
		var e encoding.Entry
		a.Read(&c, u.Shape, &e)
		if c.Failed || e.Declaration.Form != 0 {
			continue
		}
		if name := canonical(u.definedName(&e)); name != "" {
			list = append(list, definition{hashOf(name), refOf(u.data.part, start)})
		}
	}
	return list
}

// definedName returns the name of a structure without its scopes.
func (u *unit) definedName(e *encoding.Entry) string {
	if e.Name.Form == 0 && e.Spec.Form != 0 {
		if next, home, ok := u.data.entry(u.typeRef(e.Spec)); ok {
			return home.nameText(next.Name)
		}
	}
	return u.nameText(e.Name)
}
