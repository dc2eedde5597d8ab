package class

import (
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// FrameRef refers to a frame of a stack: Position is that of its location in the stack, Frame that
// of the frame in the location. Frame is -1 if the location has no name.
type FrameRef struct {
	Position int
	Frame    int
}

// Blamer finds the frame of a stack that an allocation is attributed to. It caches the classes of
// locations and of their frames, and is not safe for concurrent use.
type Blamer struct {
	s       *symbolize.Symbols
	rules   *Rules
	classes map[symbolize.LocationID][]Class
	frames  map[Names]Role
}

// NewBlamer returns a Blamer. If rules is nil, it uses the default rules.
func NewBlamer(s *symbolize.Symbols, rules *Rules) *Blamer {
	if rules == nil {
		rules = DefaultRules()
	}
	return &Blamer{s: s, rules: rules, classes: map[symbolize.LocationID][]Class{}, frames: map[Names]Role{}}
}

// Classes returns the classes of a location's frames, or a single one for a location without a
// name.
func (b *Blamer) Classes(id symbolize.LocationID) []Class {
	if c, ok := b.classes[id]; ok {
		return c
	}
	var out []Class
	for _, r := range b.Roles(id) {
		out = append(out, r.Class)
	}
	b.classes[id] = out
	return out
}

// Roles returns the roles of a location's frames, or a single one for a location without a name.
func (b *Blamer) Roles(id symbolize.LocationID) (out []Role) {
	l := &b.s.Locations[id]
	module := ""
	if m := b.s.Module(l); m != nil {
		module = m.Path
	}
	for _, f := range l.Frames {
		out = append(out, b.role(Names{f.Function, f.File, module, l.Script()}))
	}
	if len(out) == 0 {
		out = append(out, b.unnamed(l, module))
	}
	return out
}

// role returns the role of a frame. Many locations are in one function.
func (b *Blamer) role(f Names) Role {
	r, ok := b.frames[f]
	if !ok {
		named := f
		named.Function = ruleName(f.Function, f.Module)
		r = b.rules.Role(named)
		b.frames[f] = r
	}
	return r
}

// ruleName returns the name of a function for the rules: without parameters, which may be shown, and ""
// for libfoo.so@0x1234, which stands for an address without a name in recordings of heaptrack and massif.
func ruleName(function, module string) string {
	switch {
	case strings.HasPrefix(function, path.Base(module)+"@0x"):
		return ""
	case strings.Contains(function, "("):
		return symbolize.SimpleName(function)
	}
	return function
}

// unnamed returns the role of a location without a name. Generated code without a perf map is a
// script that an interpreter runs; the nearest named function below it is more useful.
func (b *Blamer) unnamed(l *symbolize.Location, module string) Role {
	if l.Reason == symbolize.ReasonAnonymous || l.Reason == symbolize.ReasonNoPerfEntry {
		return Role{Class: Interpreter}
	}
	return b.role(Names{Module: module})
}

// Mapped reports whether the memory of a stack was mapped by mmap, rather than allocated.
func (b *Blamer) Mapped(stack []symbolize.LocationID) bool {
	return len(stack) > 0 && b.Classes(stack[0])[0] == Mmap
}

// Script returns the position of the line of a script that called the frame at a position: the first
// line above it of the application, else of an installed package or a library. ok is false if there
// is none, or if the frame is itself a line of a script.
func (b *Blamer) Script(stack []symbolize.LocationID, position int) (caller int, ok bool) {
	if b.s.Locations[stack[position]].Script() {
		return 0, false
	}
	rank := len(scriptRanks)
	for i, id := range stack[position+1:] {
		if !b.s.Locations[id].Script() {
			continue
		}
		if r := slices.Index(scriptRanks[:], b.Classes(id)[0]); r >= 0 && r < rank {
			rank, caller = r, position+1+i
		}
	}
	return caller, rank < len(scriptRanks)
}

// Blame returns the frame that an allocation is attributed to. In order of preference, and each
// time from the leaf up to the first interpreter loop, it is
//
//   - on a stack with lines of a script, the one that script returns,
//   - the first frame of the application,
//   - the first named frame that is no allocator,
//   - the first frame that is no allocator,
//   - the leaf.
//
// Frames above an interpreter loop are not blamed: a C extension that calls back into Python did
// not request what the script allocates. ok is false for an empty stack.
func (b *Blamer) Blame(stack []symbolize.LocationID) (ref FrameRef, ok bool) {
	if len(stack) == 0 {
		return FrameRef{}, false
	}
	from := b.aboveAllocators(stack)
	if ref, ok := b.script(stack, from); ok {
		return ref, true
	}
	application := func(c Class, _ bool) bool { return c == Application || c == Library }
	runtime := func(c Class) bool { return c == Runtime || c == Interpreter }
	namedRuntime := func(c Class, named bool) bool { return runtime(c) && named }
	anyRuntime := func(c Class, _ bool) bool { return runtime(c) }
	for _, wanted := range []func(Class, bool) bool{application, namedRuntime, anyRuntime} {
		if ref, ok := b.first(stack, from, wanted); ok {
			return ref, true
		}
	}
	return b.refTo(stack[0], 0, 0), true
}

// Own returns the innermost frame, from a position on, that is of the user's own code: of the application,
// and of no library. On a stack with lines of a script, these are what the user can change, and ok is
// false.
func (b *Blamer) Own(stack []symbolize.LocationID, position int) (ref FrameRef, ok bool) {
	if b.HasLines(stack) {
		return FrameRef{}, false
	}
	return b.first(stack, position, func(c Class, named bool) bool { return c == Application && named })
}

// HasLines reports whether there are lines of a script on a stack.
func (b *Blamer) HasLines(stack []symbolize.LocationID) bool {
	return slices.ContainsFunc(stack, func(id symbolize.LocationID) bool { return b.s.Locations[id].Script() })
}

// script returns the frame that an allocation on behalf of a script is attributed to: native code of
// the application that a script called, else the first line of the application, of an installed
// package, or of the language's library, in this order. Native code of others, such as the
// interpreter and the C extensions of packages, works for the line that called it. The search begins
// at a position and ends at an event loop or a similar dispatcher, which did not request what it
// runs. ok is false if there is no line of a script.
func (b *Blamer) script(stack []symbolize.LocationID, from int) (ref FrameRef, ok bool) {
	stack = stack[from:]
	if !b.HasLines(stack) {
		return FrameRef{}, false // most stacks: the classes of their outer frames are not needed
	}
	rank := len(scriptRanks)
	for i, id := range stack {
		l := &b.s.Locations[id]
		if ok && !l.Script() {
			continue // native code that called the script did not request what the script allocates
		}
		for k, c := range b.Classes(id) {
			r := slices.Index(scriptRanks[:], c)
			if r >= 0 && r < rank && (l.Script() || c == Application && l.Named()) {
				rank, ref = r, b.refTo(id, from+i, k)
			}
		}
		ok = ok || l.Script()
		if ok && (rank == 0 || b.Classes(id)[0] == Interpreter) {
			break
		}
	}
	return ref, ok
}

// scriptRanks are the classes that the lines of a script may have, in order of preference.
var scriptRanks = [...]Class{Application, Library, Runtime, Interpreter}

// aboveAllocators returns the position of the first frame above the allocators at the leaf. A frame
// without a name that an allocator calls is part of the allocator. The position is 0 if the whole
// stack consists of allocators.
func (b *Blamer) aboveAllocators(stack []symbolize.LocationID) (from int) {
	for i, id := range stack {
		classes := b.Classes(id)
		last := classes[len(classes)-1]
		if last == Allocator || last == Profiler || last == Mmap {
			from = i + 1
		} else if b.s.Locations[id].Named() {
			break
		}
	}
	if from == len(stack) {
		return 0
	}
	return from
}

// first returns the first frame for which wanted returns true, beginning at a position and ending
// at an interpreter loop. wanted is called with the frame's class and whether it has a name.
func (b *Blamer) first(stack []symbolize.LocationID, from int, wanted func(c Class, named bool) bool) (FrameRef, bool) {
	for i, id := range stack[from:] {
		for k, c := range b.Classes(id) {
			if wanted(c, b.s.Locations[id].Named()) {
				return b.refTo(id, from+i, k), true
			}
			if c == Interpreter {
				return FrameRef{}, false
			}
		}
	}
	return FrameRef{}, false
}

func (b *Blamer) refTo(id symbolize.LocationID, position, frame int) FrameRef {
	if !b.s.Locations[id].Named() {
		frame = -1
	}
	return FrameRef{Position: position, Frame: frame}
}
