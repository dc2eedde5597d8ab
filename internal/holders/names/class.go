//go:build linux

package names

import (
	"context"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/symbolize"
)

// refine corrects what is known of a block by the block itself: objects of C++ with virtual functions tell their
// class.
func (p *Process) refine(ctx context.Context, c content, b blocks.Range) content {
	if c.kind == unknown || c.kind == control || c.kind == object && c.file.isPolymorphic(c.elem) {
		if class, f := p.class(ctx, b.Start); class != "" {
			return p.classContent(class, f, c, b)
		}
	}
	switch {
	case c.kind == control:
		return content{}
	case c.kind == object && !p.startsAt(c, b):
		return content{}
	}
	return c
}

// startsAt reports whether the objects of a block begin at its start, as far as is known.
func (p *Process) startsAt(c content, b blocks.Range) bool {
	_, t := c.file.plain(c.elem)
	size := c.file.size(c.elem)
	if c.at == b.Start+c.offset || c.many || isPlain(t) {
		return true
	}
	return size > 0 && (c.at-b.Start)%size == 0 && p.repeats(size, b)
}

// ClassOf returns the class whose table of virtual functions is at an address, or "" if it is none.
func (p *Process) ClassOf(ctx context.Context, table uint64) string {
	if table%8 != 0 || !p.isMapped(table) {
		return ""
	}
	class, known := p.classes[table]
	if known {
		return class
	}
	class, _ = p.classOf(ctx, table)
	if p.classes == nil {
		p.classes = map[uint64]string{}
	}
	if len(p.classes) < maxClasses {
		p.classes[table] = class
	}
	return class
}

// maxClasses limits how many addresses are remembered.
const maxClasses = 1 << 20

// isMapped reports whether an address is in the memory of a file.
func (p *Process) isMapped(address uint64) bool {
	if p.mapped == nil {
		p.mapped = []blocks.Range{}
		for _, m := range p.Mappings {
			if strings.HasPrefix(m.Path, "/") {
				p.mapped = append(p.mapped, blocks.Range{Start: m.Start, End: m.End})
			}
		}
	}
	_, ok := blocks.Containing(p.mapped, blocks.Range{Start: address, End: address + 1})
	return ok
}

// class returns the class of the object at an address, and the file that has its table of virtual functions.
func (p *Process) class(ctx context.Context, address uint64) (string, *file) {
	return p.classOf(ctx, word(p.Memory, address))
}

func (p *Process) classOf(ctx context.Context, table uint64) (string, *file) {
	m := p.moduleAt(table)
	if m == nil {
		return "", nil
	}
	f := p.file(ctx, m)
	if f == nil {
		return "", nil
	}
	class, ok := f.Class(table - m.Base)
	if !ok || word(p.Memory, table-16) != 0 { // the offset to the top of the object
		return "", nil
	}
	return class, f
}

// counted lists the classes with which a std::shared_ptr counts, and the size of what they have before the object, or
// 0 if it is not in them.
var counted = map[string]uint64{
	"std::_Sp_counted_ptr_inplace": 16, "std::_Sp_counted_ptr": 0, "std::_Sp_counted_deleter": 0,
	"std::__shared_ptr_emplace": 24, "std::__shared_ptr_pointer": 0,
}

// IsShared reports whether a std::shared_ptr leads from a block to another one: behind the pointer to the object is
// that to its counters, which have a table of virtual functions.
func (p *Process) IsShared(ctx context.Context, from, to blocks.Range) bool {
	for _, w := range p.wordsTo(from, to) {
		if class, _ := p.class(ctx, word(p.Memory, w.address+8)); isCounted(class) {
			return true
		}
	}
	return false
}

func isCounted(class string) bool {
	_, ok := counted[inline.Replace(templateOf(class))]
	return ok
}

// shared returns the object to which a word leads that is the first of a std::shared_ptr, if the counters of the object
// tell its class. They have the same pointer to the object.
func (p *Process) shared(ctx context.Context, w held) content {
	const pointer = 16 // offset in std::_Sp_counted_ptr
	counters := word(p.Memory, w.address+8)
	class, f := p.class(ctx, counters)
	if !isCounted(class) || word(p.Memory, counters+pointer) != w.value {
		return content{}
	}
	c := f.classAt(strings.TrimSuffix(argument(class), "*"), nil, w.value)
	if c.kind != object {
		return content{}
	}
	return c
}

// classContent returns the content of a block with an object of a class.
func (p *Process) classContent(class string, f *file, c content, b blocks.Range) content {
	header, ok := counted[inline.Replace(templateOf(class))]
	if !ok {
		return f.classAt(class, c.file, b.Start)
	}
	of := argument(class)
	if header == 0 {
		found := f.classAt(class, c.file, b.Start)
		found.class = Short("std::shared_ptr<" + strings.TrimSuffix(of, "*") + ">")
		return found
	}
	found := f.classAt(of, c.file, 0)
	align := uint64(1)
	if found.kind == object {
		align = found.file.align(found.elem)
	}
	found.at = b.Start + (header+align-1)&^(align-1)
	return found
}

// classAt returns an object of a class, which may be defined in either of two files.
func (f *file) classAt(class string, other *file, address uint64) content {
	for _, f := range []*file{f, other} {
		if f == nil {
			continue
		}
		if ref, ok := f.Definition(class); ok {
			return content{file: f, kind: object, elem: ref, at: address}
		}
	}
	return content{class: Short(class)}
}

// argument returns the first argument of a template.
func argument(name string) string {
	_, rest, _ := strings.Cut(name, "<")
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '<', '(':
			depth++
		case '>', ')', ',':
			if depth == 0 {
				return strings.TrimSuffix(strings.TrimRight(rest[:i], " "), " const")
			}
			if rest[i] != ',' {
				depth--
			}
		}
	}
	return ""
}

// isPlain reports whether a type is a number or a pointer. A block of such is an array.
func isPlain(t *symbolize.Type) bool {
	return t.Kind == symbolize.KindBase || t.Kind == symbolize.KindPointer
}

// valueClass returns the class of the one element in a node of a container, or "".
func (c content) valueClass() string {
	if c.kind != nodes {
		return ""
	}
	ref := c.elem
	if _, t := c.file.plain(ref); template(inline.Replace(t.Name)) == "std::pair" && len(t.Params) == 2 {
		ref = t.Params[1]
	}
	if _, t := c.file.plain(ref); t.Kind == symbolize.KindStruct && !isStd(t.Name) {
		return c.file.name(ref)
	}
	return ""
}
