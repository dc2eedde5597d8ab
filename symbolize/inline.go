package symbolize

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// V8 compiles functions into their callers while the process runs. From then on their frames are missing, and no file
// of the recording names them: a perf map has one name for all code of a function, and a jitdump has the line of the
// innermost function, without its name and, from Node 18 to 24, in the wrong file.
//
// Other stacks tell what is missing. V8 runs each function in its interpreter first, and optimizes what has run there.
// If optimized code calls something that the same function only called through others before, then these others were
// compiled into it. If they may be different ones, those are named that all of them have in common.

// mostFrames bounds the innermost frames of a stack that are looked at.
const mostFrames = 128

// dispatch is in the names of V8's own code between JavaScript and the native functions that it calls. Which of it is
// on a stack depends on how the caller was compiled.
var dispatch = [...]string{"Builtins_", "Builtin_HandleApiCall", "FunctionCallbackArguments", "HandleApiCallHelper"}

// interpreter is in the name of the code that runs functions which have no code of their own yet: such a frame stands
// for a function that is not known.
const interpreter = "Builtins_InterpreterEntryTrampoline"

// inliner finds the functions that were compiled into others.
type inliner struct {
	*Symbols
	functions []int          // by LocationID: the number of the function, 0 for V8's dispatch
	parts     map[[2]int]int // numbers the innermost parts of stacks: the number of a shorter part and a function
	// ways are the functions through which one calls something, the innermost first: several ways if there are others.
	ways map[way][][]LocationID
	// calls are the functions that optimized code calls in frames of their own.
	calls map[ownCall]bool
}

// way is a function that calls something, itself or through others: the innermost part of a stack.
type way struct{ function, callees int }

// ownCall is a function and the code that calls it.
type ownCall struct {
	space    series.Space
	code     jit.Code
	function int
}

// scriptStack is the innermost frames of a stack with JavaScript, without V8's dispatch.
type scriptStack struct {
	frames []LocationID
	parts  []int // by number of frames
}

// nameInlined adds the frames of functions that V8 compiled into others.
func (s *Symbols) nameInlined() {
	if !slices.ContainsFunc(s.Locations, func(l Location) bool { return l.code.Tier == jit.TierOptimized }) {
		return
	}
	in := inliner{s, s.numberFunctions(), map[[2]int]int{}, map[way][][]LocationID{}, map[ownCall]bool{}}
	for stack := range in.stacks() {
		in.learn(stack)
	}
	inlined := map[LocationID][]LocationID{}
	for stack := range in.stacks() {
		for i, id := range stack.frames {
			if found := in.missing(stack, i); len(found) > 0 {
				if before, known := inlined[id]; known {
					found = append(found, before)
				}
				inlined[id] = in.common(found)
			}
		}
	}
	for id, frames := range s.framesOf(inlined) {
		s.Locations[id].Frames = append(frames, s.Locations[id].Frames...)
	}
}

// framesOf returns the frames of functions that were compiled into others.
func (s *Symbols) framesOf(inlined map[LocationID][]LocationID) map[LocationID][]Frame {
	out := map[LocationID][]Frame{}
	for into, functions := range inlined {
		for _, id := range functions {
			f := s.Locations[id].Frames[0]
			f.Inlined = true
			out[into] = append(out[into], f)
		}
	}
	return out
}

// numberFunctions numbers the functions of all locations.
func (s *Symbols) numberFunctions() []int {
	numbers, out := map[string]int{}, make([]int, len(s.Locations))
	for i := range s.Locations {
		l := &s.Locations[i]
		name := s.Label(l)
		if l.Named() {
			f := &l.Frames[len(l.Frames)-1]
			name = f.Function + "\x00" + f.File + "\x00" + strconv.Itoa(f.StartLine) // many functions are anonymous
		}
		if !l.isJavaScript() && isDispatch(name) {
			continue
		}
		if numbers[name] == 0 {
			numbers[name] = len(numbers) + 1
		}
		out[i] = numbers[name]
	}
	return out
}

// isJavaScript reports whether the location is in the code of a function of a script.
func (l *Location) isJavaScript() bool { return l.code.Tier != jit.TierUnknown }

// isDispatch reports whether a name, which may be mangled, is that of V8's dispatch.
func isDispatch(name string) bool {
	isPart := func(part string) bool { return strings.Contains(name, part) }
	return !isPart(interpreter) && slices.ContainsFunc(dispatch[:], isPart)
}

// stacks yields the stacks with JavaScript.
func (in *inliner) stacks() iter.Seq[scriptStack] {
	return func(yield func(scriptStack) bool) {
		for id := range in.ends {
			whole := in.Stack(heapfile.StackID(id))
			whole = whole[:min(len(whole), mostFrames)]
			isJavaScript := func(l LocationID) bool { return in.Locations[l].isJavaScript() }
			if slices.ContainsFunc(whole, isJavaScript) && !yield(in.scriptStack(whole)) {
				return
			}
		}
	}
}

func (in *inliner) scriptStack(whole []LocationID) scriptStack {
	stack := scriptStack{parts: []int{0}}
	for _, l := range whole {
		if in.functions[l] > 0 {
			stack.frames = append(stack.frames, l)
			stack.parts = append(stack.parts, in.part(stack.parts[len(stack.parts)-1], in.functions[l]))
		}
	}
	return stack
}

// part numbers the innermost part of a stack, which is a shorter one and a function.
func (in *inliner) part(shorter, function int) int {
	key := [2]int{shorter, function}
	if in.parts[key] == 0 {
		in.parts[key] = len(in.parts) + 1
	}
	return in.parts[key]
}

// learn adds what the functions of a stack call, and through which others.
func (in *inliner) learn(stack scriptStack) {
	for i := 1; i < len(stack.frames); i++ {
		l := &in.Locations[stack.frames[i]]
		switch l.code.Tier {
		case jit.TierUnknown:
			continue
		case jit.TierOptimized:
			in.calls[ownCall{l.Space, l.code, in.functions[stack.frames[i-1]]}] = true
		case jit.TierPlain:
			in.addWay(stack, i, i)
		}
		for k := i - 1; k > 0 && in.Locations[stack.frames[k]].isJavaScript(); k-- {
			in.addWay(stack, i, k)
		}
	}
}

// addWay adds that function i of a stack calls the k innermost ones, through those between them.
func (in *inliner) addWay(stack scriptStack, i, k int) {
	key, through := way{in.functions[stack.frames[i]], stack.parts[k]}, stack.frames[k:i]
	same := func(a, b LocationID) bool { return in.functions[a] == in.functions[b] }
	isKnown := func(known []LocationID) bool { return slices.EqualFunc(known, through, same) }
	if !slices.ContainsFunc(in.ways[key], isKnown) {
		in.ways[key] = append(in.ways[key], through)
	}
}

// missing returns the functions that may have been compiled into function i of a stack, in one way or another. What the
// same code calls in a frame of its own was not compiled into it, and what the function called directly before
// optimization needs no other.
func (in *inliner) missing(stack scriptStack, i int) (out [][]LocationID) {
	l := &in.Locations[stack.frames[i]]
	if i == 0 || l.code.Tier != jit.TierOptimized {
		return nil
	}
	for _, through := range in.ways[way{in.functions[stack.frames[i]], stack.parts[i]}] {
		if len(through) == 0 {
			return [][]LocationID{nil}
		}
		if !in.calls[ownCall{l.Space, l.code, in.functions[through[len(through)-1]]}] {
			out = append(out, through)
		}
	}
	return out
}

// common returns the innermost functions that all lists begin with.
func (in *inliner) common(lists [][]LocationID) []LocationID {
	first := lists[0]
	for _, other := range lists[1:] {
		n := 0
		for n < min(len(first), len(other)) && in.functions[first[n]] == in.functions[other[n]] {
			n++
		}
		first = first[:n]
	}
	return first
}
