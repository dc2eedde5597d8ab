//go:build linux

package python

import (
	"iter"

	"github.com/heaplapse/heaplapse/internal/holders/python/dicts"
)

// part returns the role of an object for the object of the last step, and what is before the names of variables
// in it. The role is plain if it has a step of its own.
func (w *walker) part(o object) (r role, sign string) {
	in, at := w.in, w.at
	refers := func(offset uint64) bool { return in.read.Word(at.address+offset) == o.address }
	switch {
	case w.role == closure && o.kind == cellKind:
		w.via = w.closureVariable(o)
		return cell, ""
	case w.role == elements && o.kind == lruElementKind:
		return elements, ""
	case w.role == elements && at.kind == lruElementKind:
		return plain, ""
	case w.role == perThread && o.kind == dictKind:
		return namespace, "."
	case o.kind == cellKind && w.isFrame(at):
		w.via = w.local(o)
		return cell, ""
	case w.role != plain:
		return plain, ""
	case o.kind == frameKind && at.kind.isGenerator():
		return frame, ""
	case o.kind == dictKind && o.exact && in.isDictOf(at, o):
		return namespace, "."
	case at.kind == functionKind && o.kind == tupleKind && refers(in.closure):
		w.code, _ = in.codeAt(in.read.Word(at.address + in.functionCode))
		return closure, ""
	case at.kind == functionKind && (refers(in.defaults) || refers(in.keywordDefaults)):
		return parameters, ""
	case at.kind == functionKind && refers(in.globals):
		return namespace, " global "
	case at.kind == lruCacheKind && (o.kind == lruElementKind || o.kind == dictKind && refers(cacheDict)):
		return elements, ""
	case at.kind == threadLocalKind && o.kind == dictKind:
		return perThread, ""
	case o.kind == dictKind && at.kind == frameKind && in.minor <= 10 && refers(frameObjectNames):
		return namespace, " local "
	}
	return plain, ""
}

const (
	cacheDict        = 72
	frameObjectNames = 56 // up to 3.10
)

// isDictOf reports whether a dict has the attributes of an object.
func (in *Interpreter) isDictOf(o, d object) bool {
	word := func(offset uint64) uint64 { return in.read.Word(o.address + offset) }
	const exceptionDict = 16
	switch {
	case o.kind == moduleKind:
		return word(moduleDict) == d.address
	case o.kind == typeKind:
		return word(typeDict) == d.address
	case o.kind == functionKind:
		return word(in.functionDict) == d.address
	case o.kind == exceptionKind && word(exceptionDict) == d.address:
		return true
	}
	at := in.dictPointer(o)
	return at != 0 && in.read.Word(at) == d.address
}

// name returns by what the object of the last step refers to another one.
func (w *walker) name(o object) string {
	switch w.role {
	case namespace:
		return w.variable(o, w.in.dict(w.at.address), w.sign)
	case cell:
		return w.via
	case parameters:
		return " default argument"
	case closure:
		return ""
	case elements, perThread:
		return "[…]"
	}
	if w.isFrame(w.at) {
		return w.local(o)
	}
	if name := w.variable(o, w.in.attributes(w.at), "."); name != "" && w.at.kind != typeKind {
		return name
	}
	return w.element(o)
}

// variable names the variable that has an object. Of too many attributes, none is named: they are data.
func (w *walker) variable(o object, list iter.Seq[dicts.Entry], sign string) string {
	n := 0
	for e := range list {
		if n++; n > maxVariables || n > maxAttributes && w.at.kind == otherKind {
			break
		}
		if e.Value == o.address {
			return sign + identifier(w.in.str(e.Key))
		}
	}
	return ""
}

// element names what an object with a known structure refers to.
func (w *walker) element(o object) string {
	in, at := w.in, w.at
	word := func(offset uint64) bool { return in.read.Word(at.address+offset) == o.address }
	const self, tracebackNext, tracebackFrame, arguments = 24, 16, 24, 24
	switch at.kind {
	case builtinKind:
		if word(self) {
			return ".__self__"
		}
	case tracebackKind:
		if word(tracebackNext) {
			return ".tb_next"
		} else if word(tracebackFrame) {
			return ".tb_frame"
		}
	case exceptionKind:
		for _, part := range [...]struct {
			offset uint64
			name   string
		}{
			{arguments, ".args"}, {in.traceback, ".__traceback__"}, {in.cause, ".__cause__"}, {in.context, ".__context__"},
		} {
			if word(part.offset) {
				return part.name
			}
		}
	}
	if name := w.memberName(o); name != "" {
		return name
	}
	switch at.kind {
	case dictKind, listKind, tupleKind, setKind, frozenSetKind, dequeKind, lruCacheKind:
		return "[…]"
	}
	return ""
}

// memberName names the slot that has an object.
func (w *walker) memberName(o object) string {
	const most = 4 << 10
	for offset := uint64(headSize); offset < min(w.at.basic, most); offset += 8 {
		if w.in.read.Word(w.at.address+offset) != o.address {
			continue
		}
		if name := w.in.member(w.at.typ, int64(offset)); name != "" {
			return "." + name
		}
	}
	return ""
}

// closureVariable names the variable of a function whose cell is in its closure.
func (w *walker) closureVariable(o object) string {
	n := min(w.in.read.Word(w.at.address+size), maxAttributes)
	for i := range n {
		if w.in.read.Word(w.at.address+w.in.tupleItems+8*i) == o.address && w.code.in != nil {
			if name := w.code.free(i); name != "" {
				return " closure variable " + name
			}
		}
	}
	return " closure variable"
}

// isFrame reports whether an object has the variables of a function: a frame, or from 3.11 on a generator.
func (w *walker) isFrame(o object) bool {
	return o.kind == frameKind || o.kind.isGenerator() && w.in.generatorFrame != 0
}

// local names the variable that has an object, in a frame or a generator.
func (w *walker) local(o object) string {
	in := w.in
	frame, first, at := w.at.address, in.frameLocals, uint64(frameObjectCode)
	if in.minor >= 11 {
		first, at = in.frameWords, in.frameCode
		if w.at.kind == frameKind {
			frame = in.read.Word(w.at.address + frameFrame)
		} else {
			frame += in.generatorFrame
		}
	}
	c, ok := in.codeAt(in.read.Word(frame + at))
	if !ok {
		return ""
	}
	const most = 4 << 10
	for i := range uint64(most) {
		address := frame + first + 8*i
		if address >= w.last.End && w.last.Contains(frame) {
			break
		}
		if in.read.Word(address)&^tagBits != o.address {
			continue
		}
		if name := c.variable(i); name != "" {
			return " local " + name + " of " + c.String()
		}
		return " temporary of " + c.String()
	}
	return ""
}
