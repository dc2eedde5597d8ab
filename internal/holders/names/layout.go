//go:build linux

package names

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// place is a part of an object in which a word is.
type place struct {
	ref symbolize.TypeRef
	// off is the distance of the word from the start of the part, and at the address of the part.
	off, at uint64
	found
	// std is set within a type of a standard library.
	std bool
	// owner is the container that the part belongs to.
	owner *container
}

// found is what a word of an object is.
type found struct {
	// path has the members that lead to the word, up to the first type of a standard library, and shown is the type
	// of the last one.
	path  string
	shown symbolize.TypeRef
	// inner is a type of the program within that of a standard library, such as the value of a std::pair, and
	// innerPath leads from it to the word.
	inner     symbolize.TypeRef
	innerPath string
	// to is what the word leads to, if it is a pointer.
	to      content
	pointer bool
}

// via returns the members that lead to the word.
func (f found) via() string { return f.path + f.innerPath }

// layout looks for words in objects.
type layout struct {
	*file
	// indexed is set to tell elements of short arrays apart.
	indexed bool
}

// find returns what the word at an offset of an object is. address is that of the object.
func (f *file) find(ref symbolize.TypeRef, off, address uint64) (found, bool) {
	l := layout{file: f}
	return l.find(place{ref: ref, off: off, at: address}, 0)
}

// findInVariable does the same for a variable: an index is a part of the name.
func (f *file) findInVariable(ref symbolize.TypeRef, off, address uint64) (found, bool) {
	l := layout{file: f, indexed: true}
	return l.find(place{ref: ref, off: off, at: address}, 0)
}

func (l *layout) find(p place, depth int) (found, bool) {
	if !l.spend() || depth > maxNested {
		return found{}, false
	}
	ref, t := l.plain(p.ref)
	l.enter(&p, ref, t)
	switch t.Kind {
	case symbolize.KindPointer:
		if p.off != 0 {
			return found{}, false
		}
		// A function is no block: the other member of a union may be a pointer to one.
		p.to, p.pointer = l.pointee(t, p.owner), l.outline(t.Elem).Kind != symbolize.KindFunction
		return p.found, true
	case symbolize.KindBase:
		return p.found, p.off < t.Size
	case symbolize.KindArray:
		return l.element(p, t, depth)
	case symbolize.KindStruct, symbolize.KindUnion:
		got, ok := l.member(p, t, depth)
		if ok && got.pointer {
			l.applyRule(&got, p, t)
		}
		return got, ok
	}
	return found{}, false
}

// enter notes that the word is in a part of a type.
func (l *layout) enter(p *place, ref symbolize.TypeRef, t *symbolize.Type) {
	if !p.std && p.inner == 0 {
		p.shown = p.ref
	}
	switch std := t.Kind != symbolize.KindArray && isStd(t.Name); {
	case std && !p.std:
		p.std = true
	case !std && p.std && t.Kind == symbolize.KindStruct && t.Name != "" && p.owner == nil:
		p.std, p.inner, p.innerPath = false, ref, ""
	}
	if p.owner == nil && isContainer(t.Name) {
		p.owner = &container{file: l.file, ref: ref, address: p.at, step: -1}
	}
}

// pointee returns what a pointer leads to. A container's pointers lead to its elements.
func (l *layout) pointee(t *symbolize.Type, owner *container) content {
	c := content{file: l.file, kind: object, elem: t.Elem, owner: owner}
	target := l.outline(t.Elem)
	switch {
	case owner != nil && strings.HasPrefix(target.Name, rustNodes):
		c.kind = nodes
	case owner != nil:
		c.kind = array
	}
	if target.Kind == symbolize.KindUnknown || target.Kind == symbolize.KindFunction {
		return content{}
	}
	return c
}

// rustNodes is what the names of nodes of Rust's trees and lists begin with.
const rustNodes = "alloc::collections::"

// add adds a member or an index to the path.
func (p *place) add(text string) {
	switch {
	case p.std:
	case p.inner != 0:
		p.innerPath += text
	default:
		p.path += text
	}
}

// element looks into an array.
func (l *layout) element(p place, t *symbolize.Type, depth int) (found, bool) {
	size := l.size(t.Elem)
	if size == 0 {
		return found{}, false
	}
	index := p.off / size
	text, ok := indices(t.Counts, index, l.indexed && p.inner == 0)
	if !ok {
		return found{}, false
	}
	p.add(text)
	p.ref, p.off, p.at = t.Elem, p.off-index*size, p.at+index*size
	return l.find(p, depth+1)
}

// indices writes the indices of an element: "[1][2]", or "[…]" if the index is not shown. An array at the end of a
// structure may have no length.
func indices(counts []uint64, index uint64, indexed bool) (text string, ok bool) {
	for i := len(counts) - 1; i > 0; i-- {
		if counts[i] == 0 {
			return "", false
		}
		text = indexIn(counts[i], index%counts[i], indexed) + text
		index /= counts[i]
	}
	if len(counts) == 0 || counts[0] == 0 {
		return element + text, true
	}
	return indexIn(counts[0], index, indexed) + text, index < counts[0]
}

// indexIn writes an index of an array of a length.
func indexIn(count, index uint64, indexed bool) string {
	if count > maxIndexed || !indexed {
		return element
	}
	return fmt.Sprintf("[%d]", index)
}

// maxIndexed is the length of the longest arrays whose indices are shown. Those of a table are not shown.
const maxIndexed = 16

// member looks into a structure or union. If members of a union, or variants of an enumeration of Rust, disagree, what
// the word is remains unknown.
func (l *layout) member(p place, t *symbolize.Type, depth int) (best found, ok bool) {
	ambiguous := false
	for _, m := range t.Members {
		if !l.spend() {
			return p.found, true
		}
		if !l.covers(m, p.off) {
			continue
		}
		q := p
		q.ref, q.off, q.at = m.Type, p.off-m.Offset, p.at+m.Offset
		if m.Name != "" && !m.Base {
			q.add("." + memberName(m.Name, t.Rust))
		}
		got, found := l.find(q, depth+1)
		switch {
		case !found || ok && best.pointer && !got.pointer:
		case !ok || got.pointer && !best.pointer:
			best, ok, ambiguous = got, true, false
		case !got.pointer || !got.to.equal(best.to):
			ambiguous = true
		}
	}
	if ambiguous {
		return p.found, true
	}
	return best, ok
}

// covers reports whether a member has the byte at an offset of the structure.
func (l *layout) covers(m symbolize.Member, off uint64) bool {
	if off < m.Offset {
		return false
	}
	size := l.size(m.Type)
	if _, t := l.plain(m.Type); size == 0 && t.Kind == symbolize.KindArray {
		return true // at the end of the structure, of any length
	}
	return off-m.Offset < size
}

// memberName returns the name of a member as a program has it: "0" for "__0" in a tuple of Rust.
func memberName(name string, rust bool) string {
	if number, ok := strings.CutPrefix(name, "__"); ok && rust && strings.Trim(number, "0123456789") == "" {
		return number
	}
	return name
}

// contains reports whether an object of a type has a part of another type at an offset.
func (f *file) contains(outer symbolize.TypeRef, off uint64, part symbolize.TypeRef) bool {
	part, _ = f.plain(part)
	for range maxNested {
		ref, t := f.plain(outer)
		if ref == part && off == 0 {
			return true
		}
		l, next := layout{file: f}, symbolize.TypeRef(0)
		for _, m := range t.Members {
			if l.spend() && l.covers(m, off) && t.Kind == symbolize.KindStruct {
				next, off = m.Type, off-m.Offset
				break
			}
		}
		if next == 0 {
			return false
		}
		outer = next
	}
	return false
}
