package inlined

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// program numbers the places, codes and functions that stacks consist of. A word is a place: a
// function, with ~ before it in plain code, and with * in optimized code. Another place in the same
// code ends in .2, and one in other code of the function in '. A dash is dispatch.
type program struct {
	words, codes, functions []string
	places                  []Place
}

// number returns the index of a word in a list, to which it adds it if necessary.
func number(list *[]string, word string) int {
	if i := slices.Index(*list, word); i >= 0 {
		return i
	}
	*list = append(*list, word)
	return len(*list) - 1
}

func (p *program) place(word string) int {
	i := number(&p.words, word)
	if i < len(p.places) {
		return i
	}
	code, _, _ := strings.Cut(word, ".")
	var place Place
	switch word[0] {
	case '~':
		place.Code = jit.Code{Start: uint64(number(&p.codes, code)), Tier: jit.TierPlain}
	case '*':
		place.Code = jit.Code{Start: uint64(number(&p.codes, code)), Tier: jit.TierOptimized}
	}
	if word != "-" {
		place.Function = number(&p.functions, strings.Trim(code, "~*'")) + 1
	}
	p.places = append(p.places, place)
	return i
}

// find returns the functions that were compiled into others, by place.
func find(stacks ...string) map[string]string {
	var p program
	var lists [][]int
	for _, stack := range stacks {
		var list []int
		for word := range strings.FieldsSeq(stack) {
			list = append(list, p.place(word))
		}
		lists = append(lists, list)
	}
	out := map[string]string{}
	for into, functions := range Find(p.places, slices.Values(lists)) {
		var missing []string
		for _, i := range functions {
			missing = append(missing, p.functions[p.places[i].Function-1])
		}
		if len(missing) > 0 {
			out[p.words[into]] = strings.Join(missing, " ")
		}
	}
	return out
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		stacks []string
		want   map[string]string
	}{
		"what called it before": {
			[]string{"alloc ~keep ~tick", "alloc *tick"}, map[string]string{"*tick": "keep"},
		},
		"through several functions, the innermost first": {
			[]string{"alloc ~keep ~middle ~tick", "alloc *tick"}, map[string]string{"*tick": "keep middle"},
		},
		"dispatch does not differ": {
			[]string{"alloc - ~keep - ~tick", "alloc *tick"}, map[string]string{"*tick": "keep"},
		},
		"callers do not matter": {
			[]string{"alloc ~keep ~tick ~run main", "alloc *tick"}, map[string]string{"*tick": "keep"},
		},
		"nothing without optimization":  {[]string{"alloc ~keep ~tick", "alloc ~tick.2"}, map[string]string{}},
		"nothing for another callee":    {[]string{"alloc ~keep ~tick", "free *tick"}, map[string]string{}},
		"nothing if it called directly": {[]string{"alloc ~keep ~tick", "alloc ~tick.2", "alloc *tick"}, map[string]string{}},
		"what two ways have in common": {
			[]string{"alloc ~keep ~left ~tick", "alloc ~keep ~right ~tick", "alloc *tick"}, map[string]string{"*tick": "keep"},
		},
		"nothing if they have nothing in common": {
			[]string{"alloc ~keep ~tick", "alloc ~other ~tick", "alloc *tick"}, map[string]string{},
		},
		"not what the same code calls in a frame": {
			[]string{"alloc ~keep ~tick", "alloc ~other ~tick", "alloc ~other *tick.2", "alloc *tick"},
			map[string]string{"*tick": "keep"},
		},
		"unlike what other code of the function calls": {
			[]string{"alloc ~keep ~tick", "alloc ~other ~tick", "alloc ~other *tick'", "alloc *tick"}, map[string]string{},
		},
		"nothing through code that is not JavaScript": {
			[]string{"alloc python ~tick", "alloc *tick"}, map[string]string{},
		},
		"one code on two stacks": {
			[]string{"alloc ~keep ~tick", "free ~other ~tick", "alloc *tick", "free *tick"}, map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, find(c.stacks...)) })
	}
}

// TestDeepStacks: only the innermost frames count.
func TestDeepStacks(t *testing.T) {
	above := func(n int) string { return strings.Repeat("lib ", n) }
	for n, want := range map[int]map[string]string{
		mostFrames - 3: {"*tick": "keep"},
		mostFrames - 2: {},
	} {
		require.Equal(t, want, find("alloc "+above(n)+"~keep ~tick", "alloc "+above(n)+"*tick"), n)
	}
}

func TestIsDispatch(t *testing.T) {
	for name, want := range map[string]bool{
		"Builtins_CEntry": true,
		"_ZN2v88internal21Builtin_HandleApiCallEiPmPNS0_7IsolateE": true,
		"Builtins_InterpreterEntryTrampoline":                      false, // stands for a function that is not known
		"nativeAlloc":                                              false,
	} {
		require.Equal(t, want, IsDispatch(name), name)
	}
}
