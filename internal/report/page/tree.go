package page

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// maxName is the longest name, in characters. Template arguments may be of any length.
const maxName = 4000

// names is a table of strings without duplicates.
type names struct {
	list  []string
	index map[string]int
}

// add returns the index of a name, cleaned and clipped.
func (n *names) add(s string) int {
	if n.index == nil {
		n.index = map[string]int{}
	}
	return intern(n.index, &n.list, s, func() string { return text.Clip(s, maxName) })
}

// function is a function of a module, and the runtime that it is a part of ([class.Role]); all are
// indices of names.
type function struct{ name, module, runtime int }

// frame is a function and the place of a call in it. File is an index of names.
type frame struct{ function, file, line int }

// code is the functions and frames of a series without duplicates.
type code struct {
	names     names
	functions []function
	frames    []frame

	functionIndex map[function]int
	frameIndex    map[frame]int
}

func newCode() *code { return &code{functionIndex: map[function]int{}, frameIndex: map[frame]int{}} }

func (c *code) function(name, module string) int { return c.part(name, module, "") }

// part returns a function of a runtime.
func (c *code) part(name, module, runtime string) int {
	f := function{c.names.add(name), c.names.add(module), c.names.add(runtime)}
	return intern(c.functionIndex, &c.functions, f, func() function { return f })
}

func (c *code) frame(function int, file string, line int) int {
	f := frame{function, c.names.add(file), line}
	return intern(c.frameIndex, &c.frames, f, func() frame { return f })
}

// intern returns the index of a key's entry in a list. It adds the entry if the key is new.
func intern[K comparable, T any](index map[K]int, list *[]T, key K, entry func() T) int {
	i, ok := index[key]
	if !ok {
		v := entry()
		i = len(*list)
		index[key] = i
		*list = append(*list, v)
	}
	return i
}

// tree is the union of all call paths, outermost function first. A node is a function called from
// its parent, for all lines of the call. Parents precede their children, and node 0 is the heap
// itself.
type tree struct {
	parents   []int    // -1 for the first
	functions []int    // by node
	places    []places // by node
	index     map[[2]int]int
}

// places are the frames of a node without duplicates, and the memory in use at the last judged
// snapshot through each. Memory may be attributed to the node.
type places struct {
	frames []place
	blamed bool
}

type place struct {
	frame int
	bytes int64
}

func newTree(heap int) *tree {
	return &tree{parents: []int{-1}, functions: []int{heap}, places: make([]places, 1), index: map[[2]int]int{}}
}

// add adds the memory of a path that ends in a node. The path has frames, the leaf first. blame is
// the index of the frame that the memory is attributed to.
func (t *tree) add(node int, path []int, blame int, bytes int64) {
	for i, f := range path {
		t.places[node].add(f, i == blame, bytes)
		node = t.parents[node]
	}
}

func (p *places) add(frame int, blamed bool, bytes int64) {
	p.blamed = p.blamed || blamed
	i := slices.IndexFunc(p.frames, func(at place) bool { return at.frame == frame })
	if i < 0 {
		i = len(p.frames)
		p.frames = append(p.frames, place{frame: frame})
	}
	p.frames[i].bytes += bytes
}

// most is the frame with the most memory.
func (p *places) most() int {
	return slices.MaxFunc(p.frames, func(a, b place) int { return cmp.Compare(a.bytes, b.bytes) }).frame
}

// addPlaces copies the places on the path of a node of another tree.
func (t *tree) addPlaces(node int, from *tree, of int) {
	for ; of > 0; node, of = t.parents[node], from.parents[of] {
		t.places[node] = from.places[of]
	}
}

// child is the node of a function called from a node.
func (t *tree) child(parent, function int) int {
	key := [2]int{parent, function}
	n, ok := t.index[key]
	if !ok {
		n = len(t.parents)
		t.index[key] = n
		t.parents = append(t.parents, parent)
		t.functions = append(t.functions, function)
		t.places = append(t.places, places{})
	}
	return n
}

// pather converts stacks to paths of frames, without those of the profiler.
type pather struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	code    *code
	known   map[symbolize.LocationID][]int
}

func newPather(s *symbolize.Symbols, rules *class.Rules, c *code) *pather {
	return &pather{s, class.NewBlamer(s, rules), c, map[symbolize.LocationID][]int{}}
}

// path returns the frames of a stack, leaf first, and the index of the one that the memory is
// attributed to, -1 for none.
func (p *pather) path(stack []symbolize.LocationID) (path []int, blame int) {
	ref, ok := p.blamer.Blame(stack)
	blame = -1
	skipped := false
	for i, id := range stack {
		if !skipped && i < len(stack)-1 && i < ref.Position && p.isProfiler(id) {
			continue
		}
		skipped = true
		if ok && i == ref.Position {
			blame = len(path) + max(ref.Frame, 0)
		}
		path = append(path, p.location(id)...)
	}
	if len(path) == 0 {
		return []int{p.code.frame(p.code.function("(no stack)", ""), "", 0)}, -1
	}
	return path, blame
}

// functions are those of a path, outermost first.
func (p *pather) functions(path []int) []int {
	out := make([]int, 0, len(path))
	for i := len(path) - 1; i >= 0; i-- {
		out = append(out, p.code.frames[path[i]].function)
	}
	return out
}

func (p *pather) isProfiler(id symbolize.LocationID) bool {
	for _, c := range p.blamer.Classes(id) {
		if c != class.Profiler {
			return false
		}
	}
	return true
}

func (p *pather) location(id symbolize.LocationID) []int {
	if known, ok := p.known[id]; ok {
		return known
	}
	l := &p.symbols.Locations[id]
	module := ""
	if m := p.symbols.Module(l); m != nil {
		module = m.Title()
	}
	var out []int
	roles := p.blamer.Roles(id)
	for i, f := range l.Frames {
		out = append(out, p.code.frame(p.code.part(f.Function, module, roles[i].Runtime), f.File, f.Line))
	}
	if len(out) == 0 {
		out = append(out, p.code.frame(p.code.part(p.symbols.Label(l), module, roles[0].Runtime), "", 0))
	}
	p.known[id] = out
	return out
}
