//go:build linux

package names

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/symbolize"
)

// file has the types of a module.
type file struct {
	*symbolize.Types
	module *target.Module
	left   int                                  // of maxWork
	locals map[uint64][]symbolize.LocalVariable // by address
}

// maxWork limits the members that are looked at for one word. Debug information may be crafted.
const maxWork = 1 << 14

// spend reports whether one more member may be looked at.
func (f *file) spend() bool {
	f.left--
	return f.left >= 0
}

const (
	// maxAliases limits typedefs and qualifiers of each other.
	maxAliases = 32
	// maxNested limits structures within each other.
	maxNested = 64
)

// plain returns a type without typedefs and qualifiers.
func (f *file) plain(ref symbolize.TypeRef) (symbolize.TypeRef, *symbolize.Type) {
	ref = f.withoutAliases(ref)
	return ref, f.Type(ref)
}

// outline is plain for those who need no members of a structure.
func (f *file) outline(ref symbolize.TypeRef) *symbolize.Type {
	return f.Outline(f.withoutAliases(ref))
}

func (f *file) withoutAliases(ref symbolize.TypeRef) symbolize.TypeRef {
	for range maxAliases {
		t := f.Outline(ref)
		if t.Kind != symbolize.KindAlias {
			break
		}
		ref = t.Elem
	}
	return ref
}

// same reports whether two types are the same but for typedefs and qualifiers.
func (f *file) same(a, b symbolize.TypeRef) bool {
	a, _ = f.plain(a)
	b, _ = f.plain(b)
	return a == b
}

// size returns the size of a type, or 0 if it is not known.
func (f *file) size(ref symbolize.TypeRef) uint64 {
	n := uint64(1)
	for range maxAliases {
		_, t := f.plain(ref)
		if t.Kind != symbolize.KindArray {
			return mul(n, t.Size)
		}
		for _, count := range t.Counts {
			n = mul(n, count)
		}
		ref = t.Elem
	}
	return 0
}

// mul returns the product, or 0 if it is too large for an object.
func mul(a, b uint64) uint64 {
	const most = 1 << 31
	if a > most || b > most {
		return 0
	}
	return a * b
}

// align returns the alignment of a type.
func (f *file) align(ref symbolize.TypeRef) uint64 { return f.alignment(ref, 0) }

func (f *file) alignment(ref symbolize.TypeRef, depth int) (most uint64) {
	const largest = 16
	_, t := f.plain(ref)
	switch t.Kind {
	case symbolize.KindArray:
		if depth < maxAliases {
			return f.alignment(t.Elem, depth+1)
		}
	case symbolize.KindStruct, symbolize.KindUnion:
		most = 1
		for _, m := range t.Members {
			if depth < maxAliases && most < 8 && f.spend() {
				most = max(most, f.alignment(m.Type, depth+1))
			}
		}
		return most
	}
	if t.Size > 0 && t.Size <= largest && t.Size&(t.Size-1) == 0 {
		return t.Size
	}
	return 1
}

// name returns a type as it is shown: typedefs of a standard library are replaced by what they stand for.
func (f *file) name(ref symbolize.TypeRef) string {
	t := f.Type(ref)
	for range maxAliases {
		if t.Kind != symbolize.KindAlias || !isStd(t.Name) && !strings.HasPrefix(t.Name, "const ") {
			break
		}
		t = f.Type(t.Elem)
	}
	return Short(t.Name)
}

// isStd reports whether a type belongs to the standard library of C++ or Rust. Rust's tuples do.
func isStd(name string) bool {
	return isRustStd(name) || strings.HasPrefix(name, "__gnu_cxx::") ||
		strings.HasPrefix(name, "(") && !strings.HasPrefix(name, "(anonymous")
}

// isPolymorphic reports whether objects of a type begin with a pointer to a table of virtual functions, or may do so
// because the type is not known.
func (f *file) isPolymorphic(ref symbolize.TypeRef) bool { return f.hasTable(ref, 0) }

func (f *file) hasTable(ref symbolize.TypeRef, depth int) bool {
	_, t := f.plain(ref)
	if t.Kind != symbolize.KindStruct {
		return t.Kind == symbolize.KindUnknown
	}
	for _, m := range t.Members {
		if !f.spend() {
			return false
		}
		if strings.HasPrefix(m.Name, "_vptr") || m.Base && depth < maxNested && f.hasTable(m.Type, depth+1) {
			return true
		}
	}
	return t.Declared
}
