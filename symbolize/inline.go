package symbolize

import (
	"slices"
	"strconv"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize/internal/inlined"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// nameInlined adds the frames of functions that V8 compiled into others.
func (s *Symbols) nameInlined() {
	if !slices.ContainsFunc(s.Locations, func(l Location) bool { return l.code.Tier == jit.TierOptimized }) {
		return
	}
	places := make([]inlined.Place, len(s.Locations))
	for i, function := range s.numberFunctions() {
		places[i] = inlined.Place{Function: function, Code: s.Locations[i].code, Space: s.Locations[i].Space}
	}
	frames := map[int][]Frame{}
	for into, functions := range inlined.Find(places, s.eachStack) {
		for _, i := range functions {
			f := s.Locations[i].Frames[0]
			f.Inlined = true
			frames[into] = append(frames[into], f)
		}
	}
	for i, missing := range frames {
		s.Locations[i].Frames = append(missing, s.Locations[i].Frames...)
	}
}

// eachStack yields the stacks as indices of Locations.
func (s *Symbols) eachStack(yield func([]int) bool) {
	var stack []int
	for id := range s.ends {
		stack = stack[:0]
		for _, l := range s.Stack(heapfile.StackID(id)) {
			stack = append(stack, int(l))
		}
		if !yield(stack) {
			return
		}
	}
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
		if l.code.Tier == jit.TierUnknown && inlined.IsDispatch(name) {
			continue
		}
		if numbers[name] == 0 {
			numbers[name] = len(numbers) + 1
		}
		out[i] = numbers[name]
	}
	return out
}
