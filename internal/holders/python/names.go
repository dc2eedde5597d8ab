//go:build linux

package python

import "strings"

// display returns the name of a type, such as "dict" or "app.Session".
func (in *Interpreter) display(t *typ) string {
	if t.display == "" {
		t.display = in.typeName(t.address, 0)
	}
	return t.display
}

// typeName returns the name of a type. A name that is no identifier may be data: then it is that of the base.
func (in *Interpreter) typeName(t uint64, depth int) string {
	name := in.name(t)
	if in.read.Word(t+typeFlags)&heapType != 0 && !strings.Contains(name, ".") {
		name = in.madeName(t, name)
	}
	if isQualified(name) {
		return name
	}
	if base := in.read.Word(t + typeBase); base != 0 && depth < maxBases {
		return in.typeName(base, depth+1)
	}
	return "object"
}

// madeName returns the name of a type that the program has made: with its module, except for builtins.
func (in *Interpreter) madeName(t uint64, name string) string {
	if qualified := in.str(in.read.Word(t + in.qualname)); qualified != "" {
		name = qualified
	}
	d := in.read.Word(t + typeDict)
	m, ok := in.lookup(d, "__module__")
	if !ok {
		return name
	}
	if module := in.str(m); isModule(module) && module != "builtins" {
		return module + "." + name
	}
	return name
}

// member returns the name of the attribute of C, or of __slots__, that is at an offset in objects of a type, or "".
func (in *Interpreter) member(t *typ, offset int64) string {
	if t.members == nil {
		t.members = map[int64]string{}
		for base, n := t.address, 0; base != 0 && n < maxBases; n++ {
			in.addMembers(t, base)
			base = in.read.Word(base + typeBase)
		}
	}
	return t.members[offset]
}

// addMembers reads the members that a type adds: {name, kind, offset, flags, documentation}.
func (in *Interpreter) addMembers(t *typ, base uint64) {
	const sizeOf, offset, kinds, most = 40, 16, 8, 1000
	const isObject, isObjectOrUnset = 6, 16
	at := in.read.Word(base + typeMembers)
	for range most {
		if at == 0 {
			return
		}
		name := in.read.Text(in.read.Word(at), maxName)
		if name == "" {
			return
		}
		kind := in.read.Number(at + kinds)
		o := int64(in.read.Word(at + offset))
		if _, known := t.members[o]; !known && (kind == isObject || kind == isObjectOrUnset) {
			t.members[o] = identifier(name)
		}
		at += sizeOf
	}
}

// typeText returns what an object is called: its type, with the name of a function.
func (in *Interpreter) typeText(o object) string {
	name := in.display(o.typ)
	var c code
	ok := false
	switch o.kind {
	case functionKind:
		c, ok = in.codeAt(in.read.Word(o.address + in.functionCode))
	case methodKind:
		const function = 16
		if f, isObject := in.object(in.read.Word(o.address + function)); isObject && f.kind == functionKind {
			c, ok = in.codeAt(in.read.Word(f.address + in.functionCode))
		}
	}
	if ok {
		return name + " " + c.name()
	}
	return name
}
