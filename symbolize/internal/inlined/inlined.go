// Package inlined finds the functions that V8 has compiled into their callers.
//
// V8 compiles functions into their callers while the process runs. From then on their frames are
// missing, and no file of the recording names them: a perf map has one name for all code of a
// function, and a jitdump has the line of the innermost function, without its name and, from Node
// 18 to 24, in the wrong file.
//
// Other stacks tell what is missing. V8 runs each function in its interpreter first, and optimizes
// what has run there. If optimized code calls something that the same function only called through
// others before, then these others were compiled into it. If they may be different ones, those are
// named that all of them have in common.
package inlined

import (
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// Place is an address that is on stacks.
type Place struct {
	// Function is the number of its function, or 0 if it is dispatch. See [IsDispatch].
	Function int
	// Code is the zero value for what no just-in-time compiler has made.
	Code  jit.Code
	Space series.Space
}

// isJavaScript reports whether the place is in the code of a function of a script.
func (p *Place) isJavaScript() bool { return p.Code.Tier != jit.TierUnknown }

// Find returns the missing functions by the index of the place that they were compiled into, the
// innermost first, as indices of places of these functions. stacks yields the indices of the places
// of each stack, leaf first, in slices that it may reuse. It is called twice.
func Find(places []Place, stacks iter.Seq[[]int]) map[int][]int {
	in := inliner{places, map[[2]int]int{}, map[way][][]int{}, map[ownCall]bool{}}
	scripts := in.scripts(stacks)
	for stack := range scripts {
		in.learn(stack)
	}
	inlined := map[int][]int{}
	for stack := range scripts {
		for i, id := range stack.frames {
			if found := in.missing(stack, i); len(found) > 0 {
				if before, known := inlined[id]; known {
					found = append(found, before)
				}
				inlined[id] = in.common(found)
			}
		}
	}
	return inlined
}

// mostFrames bounds the innermost frames of a stack that are looked at.
const mostFrames = 128

// inliner finds the functions that were compiled into others.
type inliner struct {
	places []Place
	parts  map[[2]int]int // numbers the innermost parts of stacks: the number of a shorter part and a function
	// ways are the functions through which one calls something, the innermost first: several ways
	// if there are others.
	ways map[way][][]int
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
	frames []int
	parts  []int // by number of frames
}

// scripts yields the stacks with JavaScript.
func (in *inliner) scripts(stacks iter.Seq[[]int]) iter.Seq[scriptStack] {
	return func(yield func(scriptStack) bool) {
		for whole := range stacks {
			whole = whole[:min(len(whole), mostFrames)]
			isJavaScript := func(id int) bool { return in.places[id].isJavaScript() }
			if slices.ContainsFunc(whole, isJavaScript) && !yield(in.script(whole)) {
				return
			}
		}
	}
}

func (in *inliner) script(whole []int) scriptStack {
	stack := scriptStack{parts: []int{0}}
	for _, id := range whole {
		if function := in.function(id); function > 0 {
			stack.frames = append(stack.frames, id)
			stack.parts = append(stack.parts, in.part(stack.parts[len(stack.parts)-1], function))
		}
	}
	return stack
}

func (in *inliner) function(id int) int { return in.places[id].Function }

func (in *inliner) same(a, b int) bool { return in.function(a) == in.function(b) }

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
		p := &in.places[stack.frames[i]]
		switch p.Code.Tier {
		case jit.TierUnknown:
			continue
		case jit.TierOptimized:
			in.calls[ownCall{p.Space, p.Code, in.function(stack.frames[i-1])}] = true
		case jit.TierPlain:
			in.addWay(stack, i, i)
		}
		for k := i - 1; k > 0 && in.places[stack.frames[k]].isJavaScript(); k-- {
			in.addWay(stack, i, k)
		}
	}
}

// addWay adds that function i of a stack calls the k innermost ones, through those between them.
func (in *inliner) addWay(stack scriptStack, i, k int) {
	key, through := way{in.function(stack.frames[i]), stack.parts[k]}, stack.frames[k:i]
	isKnown := func(known []int) bool { return slices.EqualFunc(known, through, in.same) }
	if !slices.ContainsFunc(in.ways[key], isKnown) {
		in.ways[key] = append(in.ways[key], through)
	}
}

// missing returns the functions that may have been compiled into function i of a stack, in one way
// or another. What the same code calls in a frame of its own was not compiled into it, and what the
// function called directly before optimization needs no other.
func (in *inliner) missing(stack scriptStack, i int) (out [][]int) {
	p := &in.places[stack.frames[i]]
	if i == 0 || p.Code.Tier != jit.TierOptimized {
		return nil
	}
	for _, through := range in.ways[way{in.function(stack.frames[i]), stack.parts[i]}] {
		if len(through) == 0 {
			return [][]int{nil}
		}
		if !in.calls[ownCall{p.Space, p.Code, in.function(through[len(through)-1])}] {
			out = append(out, through)
		}
	}
	return out
}

// common returns the innermost functions that all lists begin with.
func (in *inliner) common(lists [][]int) []int {
	first := lists[0]
	for _, other := range lists[1:] {
		n := 0
		for n < min(len(first), len(other)) && in.same(first[n], other[n]) {
			n++
		}
		first = first[:n]
	}
	return first
}
