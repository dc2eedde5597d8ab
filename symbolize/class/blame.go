package class

import "github.com/heaplapse/heaplapse/symbolize"

// FrameRef refers to a frame of a stack: Position is that of its location in the stack, Frame that
// of the frame in the location. Frame is -1 if the location has no name.
type FrameRef struct {
	Position int
	Frame    int
}

// Blamer finds the frame of a stack that an allocation is attributed to. It caches the classes of
// locations and is not safe for concurrent use.
type Blamer struct {
	s       *symbolize.Symbols
	rules   *Rules
	classes map[symbolize.LocationID][]Class
}

// NewBlamer returns a Blamer. If rules is nil, it uses the default rules.
func NewBlamer(s *symbolize.Symbols, rules *Rules) *Blamer {
	if rules == nil {
		rules = DefaultRules()
	}
	return &Blamer{s: s, rules: rules, classes: map[symbolize.LocationID][]Class{}}
}

// Classes returns the classes of a location's frames, or a single one for a location without a
// name.
func (b *Blamer) Classes(id symbolize.LocationID) []Class {
	if c, ok := b.classes[id]; ok {
		return c
	}
	l := &b.s.Locations[id]
	module := ""
	if m := b.s.Module(l); m != nil {
		module = m.Name()
	}
	var out []Class
	for _, f := range l.Frames {
		out = append(out, b.rules.classify(f.Function, module))
	}
	if len(out) == 0 {
		out = append(out, b.unnamed(l, module))
	}
	b.classes[id] = out
	return out
}

// unnamed returns the class of a location without a name. Generated code without a perf map is a
// script that an interpreter runs; the nearest named function below it is more useful.
func (b *Blamer) unnamed(l *symbolize.Location, module string) Class {
	if l.Reason == symbolize.ReasonAnonymous || l.Reason == symbolize.ReasonNoPerfEntry {
		return Interpreter
	}
	return b.rules.classify("", module)
}

// Blame returns the frame that an allocation is attributed to. In order of preference, and each
// time from the leaf up to the first interpreter loop, it is
//
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
	application := func(c Class, _ bool) bool { return c == Application }
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

// aboveAllocators returns the position of the first frame above the allocators at the leaf. A frame
// without a name that an allocator calls is part of the allocator. The position is 0 if the whole
// stack consists of allocators.
func (b *Blamer) aboveAllocators(stack []symbolize.LocationID) (from int) {
	for i, id := range stack {
		classes := b.Classes(id)
		last := classes[len(classes)-1]
		if last == Allocator || last == Profiler {
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
