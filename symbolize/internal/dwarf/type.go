package dwarf

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/location"
)

// part is one of the sections with entries that a file has.
type part uint8

const (
	inInfo  part = iota // .debug_info
	inTypes             // .debug_types, of DWARF 4
	inAlt               // .debug_info of dwz's supplementary file
	numParts
)

// addParts adds the other sections that have types.
func (d *Data) addParts(o Options) {
	if !o.Variables {
		return
	}
	if len(d.sec.Types) > 0 {
		sec := d.sec.Sections
		sec.Info, sec.Types = sec.Types, nil
		types := newPart(sec, Options{Alt: o.Alt, Variables: true}, inTypes)
		types.parts, d.parts[inTypes] = d.parts, types
		d.Faults = append(d.Faults, types.Faults...)
	}
	if o.Alt != nil {
		o.Alt.parts, o.Alt.part = d.parts, inAlt
		d.parts[inAlt] = o.Alt
	}
}

// TypeRef locates a type in a file. 0 is void, or a type that is unknown.
type TypeRef uint64

const partShift = 62

func refOf(p part, off uint64) TypeRef { return TypeRef(uint64(p)<<partShift | off) }

func (r TypeRef) part() part  { return part(r >> partShift) }
func (r TypeRef) off() uint64 { return uint64(r) & (1<<partShift - 1) }

// typeRef returns what an attribute refers to.
func (u *unit) typeRef(v encoding.Value) TypeRef {
	switch {
	case v.Form == 0:
		return 0
	case v.Form == encoding.FormRefSig8:
		return u.data.signed(v.U)
	case isAltRef(v.Form):
		return refOf(inAlt, v.U)
	}
	if off, ok := u.localRef(v); ok && off < 1<<partShift {
		return refOf(u.data.part, off)
	}
	return 0
}

// signed returns the type of the type unit with a signature.
func (d *Data) signed(signature uint64) TypeRef {
	for _, p := range d.parts {
		if p != nil {
			if ref := p.signatures()[signature]; ref != 0 {
				return ref
			}
		}
	}
	return 0
}

// signatures returns the types of type units.
func (d *Data) signatures() map[uint64]TypeRef {
	d.types.once.Do(func() {
		d.types.signatures = map[uint64]TypeRef{}
		for _, u := range d.units {
			if off := u.off + u.typeOff; u.kind == unitType && u.typeOff < u.end-u.off {
				d.types.signatures[u.signature] = refOf(d.part, off)
			}
		}
	})
	return d.types.signatures
}

// entry returns the entry that a reference leads to.
func (d *Data) entry(ref TypeRef) (encoding.Entry, *unit, bool) {
	if ref == 0 || ref.part() >= numParts || d.parts[ref.part()] == nil {
		return encoding.Entry{}, nil, false
	}
	u := d.parts[ref.part()].unitAt(ref.off())
	if u == nil {
		return encoding.Entry{}, nil, false
	}
	e, ok := u.entryAt(ref.off())
	return e, u, ok
}

// Kind tells types apart.
type Kind uint8

// Kinds of types.
const (
	Unknown  Kind = iota
	Base          // a number, an enumeration, or the like
	Pointer       // or a reference
	Array         // of Count elements
	Struct        // or a class
	Union         // whose members share their memory
	Alias         // a typedef, or a qualifier such as const
	Function      // code
)

// Type describes a type.
type Type struct {
	Kind Kind
	// Name is written as in C, with namespaces, or "" if it has none.
	Name string
	// Size is in bytes, or 0 if it is not known.
	Size uint64
	// Elem is what a pointer points to, what an array consists of, and what an alias stands for.
	Elem TypeRef
	// Counts has the lengths of the dimensions of an array.
	Counts []uint64
	// Members are those of a structure or union. Base classes come first.
	Members []Member
	// Params are the types among the arguments of a template, or of a generic type.
	Params []TypeRef
	// Pointer is the type that a C++ class calls pointer, as iterators do; 0: there is none.
	Pointer TypeRef
	// Declared means that the file has only a declaration here. [Data.Definition] may find the type.
	Declared bool
	// Rust reports whether the type is one of Rust.
	Rust bool
}

// Member is a member of a structure.
type Member struct {
	// Name is "" for an anonymous structure or union.
	Name   string
	Offset uint64
	Type   TypeRef
	// Base is set for base classes.
	Base bool
	// Variant is set for members of an enumeration of Rust, of which only some exist at a time.
	Variant bool
}

// Type returns a type. Its size may be known by its element only.
func (d *Data) Type(ref TypeRef) Type {
	e, u, ok := d.entry(ref)
	if !ok {
		return Type{}
	}
	if e.Signature.Form != 0 {
		if target := u.typeRef(e.Signature); target != ref && target != 0 {
			if e, u, ok = d.entry(target); !ok {
				return Type{}
			}
			ref = target
		}
	}
	t := Type{
		Kind: kindOf(e.Abbrev.Tag), Name: d.typeName(ref, 0), Elem: u.typeRef(e.Type),
		Size: constant(e.ByteSize), Declared: e.Declaration.Form != 0, Rust: u.language == languageRust,
	}
	if e.Abbrev.Children {
		r := typeReader{unit: u, t: &t}
		r.start(ref.off())
		r.children(0, false)
	}
	if t.Kind == Pointer && t.Size == 0 {
		t.Size = uint64(u.AddrSize)
	}
	return t
}

const languageRust = 0x1c // DW_LANG_Rust

func kindOf(t encoding.Tag) Kind {
	switch t {
	case encoding.TagBase, encoding.TagEnum, encoding.TagPointerToMember:
		return Base
	case encoding.TagPointer, encoding.TagReference, encoding.TagRvalueReference:
		return Pointer
	case encoding.TagArray:
		return Array
	case encoding.TagStruct, encoding.TagClass, encoding.TagInterface:
		return Struct
	case encoding.TagUnion:
		return Union
	case encoding.TagTypedef, encoding.TagConst, encoding.TagVolatile, encoding.TagRestrict, encoding.TagAtomic:
		return Alias
	case encoding.TagSubroutine:
		return Function
	}
	return Unknown
}

// constant returns a value that is a number, or 0.
func constant(v encoding.Value) uint64 {
	switch v.Form {
	case encoding.FormData1, encoding.FormData2, encoding.FormData4, encoding.FormData8, encoding.FormUdata,
		encoding.FormSdata, encoding.FormImplicit:
		return v.U
	}
	return 0
}

// typeReader reads the entries below that of a type.
type typeReader struct {
	*unit
	c encoding.Cursor
	t *Type
}

// start moves behind the entry at an offset.
func (r *typeReader) start(off uint64) {
	r.c = encoding.Cursor{Data: r.Entries, Off: off}
	if a := r.abbrevs.Get(r.c.Uleb()); a != nil {
		a.Skip(&r.c, r.Shape)
	}
}

// next reads the abbreviation of the next entry. It returns nil at the end of a list, and when all work that is
// allowed was done.
func (r *typeReader) next() *encoding.Abbrev {
	if !spend(&r.data.budget.types, 1) {
		return nil
	}
	code := r.c.Uleb()
	if r.c.Failed || code == 0 {
		return nil
	}
	return r.abbrevs.Get(code)
}

const (
	maxMembers = 1 << 12
	// maxVariants limits the levels of variant parts, of which compilers write one.
	maxVariants = 4
)

// children reads a list of entries.
func (r *typeReader) children(depth int, variant bool) {
	for a := r.next(); a != nil && !r.c.Failed; a = r.next() {
		var e encoding.Entry
		switch a.Tag {
		case encoding.TagMember, encoding.TagInheritance, encoding.TagSubrange, encoding.TagTypeParameter,
			encoding.TagTypedef:
			a.Read(&r.c, r.Shape, &e)
			r.add(&e, variant)
		case encoding.TagVariantPart, encoding.TagVariant:
			a.Read(&r.c, r.Shape, &e)
			if a.Children && depth < 2*maxVariants {
				r.children(depth+1, true)
				continue
			}
		default:
			e.Sibling = a.Skip(&r.c, r.Shape)
		}
		if a.Children {
			r.skip(e.Sibling)
		}
	}
}

// skip moves behind the children of an entry.
func (r *typeReader) skip(sibling encoding.Value) {
	if off, ok := r.localRef(sibling); ok && jump(&r.c, off) {
		return
	}
	for depth := 1; depth > 0 && !r.c.Failed; {
		if !spend(&r.data.budget.types, 1) {
			r.c.Failed = true
			return
		}
		code := r.c.Uleb()
		if code == 0 {
			depth--
			continue
		}
		a := r.abbrevs.Get(code)
		if a == nil {
			r.c.Failed = true
			return
		}
		a.Skip(&r.c, r.Shape)
		if a.Children {
			depth++
		}
	}
}

// add adds what an entry says.
func (r *typeReader) add(e *encoding.Entry, variant bool) {
	switch e.Abbrev.Tag {
	case encoding.TagSubrange:
		if len(r.t.Counts) < maxMembers {
			r.t.Counts = append(r.t.Counts, constant(e.Count))
		}
	case encoding.TagTypeParameter:
		if len(r.t.Params) < maxMembers {
			r.t.Params = append(r.t.Params, r.typeRef(e.Type))
		}
	case encoding.TagTypedef:
		if r.nameText(e.Name) == "pointer" {
			r.t.Pointer = r.typeRef(e.Type)
		}
	default:
		off, ok := r.memberOffset(e)
		if ok && len(r.t.Members) < maxMembers {
			r.t.Members = append(r.t.Members, Member{
				Name: r.nameText(e.Name), Offset: off, Type: r.typeRef(e.Type),
				Base: e.Abbrev.Tag == encoding.TagInheritance, Variant: variant,
			})
		}
	}
}

// memberOffset returns where a member is. Static members, and virtual base classes, have no fixed place.
func (u *unit) memberOffset(e *encoding.Entry) (off uint64, ok bool) {
	switch v := e.Location; v.Form {
	case 0:
		return constant(e.BitOffset) / 8, e.Declaration.Form == 0
	case encoding.FormBlock1, encoding.FormExprloc, encoding.FormBlock:
		return location.Member(u.Block(v))
	default:
		return constant(v), true
	}
}

// typeName returns a type as it is written in C, without volatile and the like. depth limits the number of
// references.
func (d *Data) typeName(ref TypeRef, depth int) string {
	if ref == 0 {
		return "void"
	}
	e, u, ok := d.entry(ref)
	if !ok || depth == maxRefs {
		return ""
	}
	suffix, prefix := "", ""
	switch e.Abbrev.Tag {
	case encoding.TagPointer:
		if e.Name.Form != 0 {
			return u.nameText(e.Name) // Rust's &str, Box<T>
		}
		suffix = "*"
	case encoding.TagReference:
		suffix = "&"
	case encoding.TagRvalueReference:
		suffix = "&&"
	case encoding.TagArray:
		suffix = "[]"
	case encoding.TagSubroutine:
		suffix = "()"
	case encoding.TagConst:
		prefix = "const "
	case encoding.TagVolatile, encoding.TagRestrict, encoding.TagAtomic:
	default:
		if e.Signature.Form != 0 {
			return d.typeName(u.typeRef(e.Signature), depth+1)
		}
		return u.qualifiedType(ref, &e, maxRefs-depth)
	}
	if e.Type.Form != 0 && u.typeRef(e.Type) == 0 {
		return "" // a type in another file
	}
	inner := d.typeName(u.typeRef(e.Type), depth+1)
	if inner == "" {
		return ""
	}
	if suffix != "" && !strings.ContainsAny(inner[len(inner)-1:], "*&]") {
		suffix = " " + suffix
	}
	if strings.HasPrefix(inner, prefix) { // gcc says it of an array and of its elements
		prefix = ""
	}
	return prefix + inner + suffix
}

// qualifiedType returns the name of a type with its scopes. That of a type without a name is "". depth limits the
// number of references and of scopes.
func (u *unit) qualifiedType(ref TypeRef, e *encoding.Entry, depth int) string {
	off := ref.off()
	for ; e.Spec.Form != 0 && depth > 0; depth-- {
		// It is defined outside of the namespace or class that declares it.
		target := u.typeRef(e.Spec)
		next, home, ok := u.data.entry(target)
		if !ok {
			return ""
		}
		u, off, e = home, target.off(), &next
	}
	if u.language == languageRust {
		return withScopes(u, off, u.nameText(e.Name), depth)
	}
	return qualified(u, off, u.nameText(e.Name), depth)
}
