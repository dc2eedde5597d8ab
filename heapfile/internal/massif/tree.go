package massif

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// node is a line of a tree.
type node struct {
	children int
	bytes    int64
	address  uint64
	frame    recording.FrameName
	module   string
	below    bool // it stands for callers below the threshold
}

// tree reads the lines of one tree.
type tree struct {
	*reader
	path    []open // from the root to the last line
	samples []*profile.Sample
	total   int64 // of the samples
}

// open is a node whose children are being read.
type open struct {
	node
	seen int   // children
	rest int64 // bytes that no child has
}

// maxDepth is the largest depth of a tree; Valgrind's --num-callers is at most 500, and inlined
// functions have lines of their own.
const maxDepth = 4096

// line adds a line and reports whether the tree is complete.
func (t *tree) line(line []byte) (done bool, err error) {
	n, depth, ok := parseNode(line)
	switch {
	case !ok:
		return false, t.lines.Errorf("malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected")
	case depth != len(t.path):
		return false, t.lines.Errorf("a line at depth %d of a tree, want %d", depth, len(t.path))
	case depth > maxDepth:
		return false, t.lines.Errorf("the tree is deeper than %d", maxDepth)
	}
	if depth > 0 {
		parent := &t.path[depth-1]
		parent.seen++
		if parent.rest -= n.bytes; parent.rest < 0 {
			return false, t.lines.Errorf("callers have more bytes than the function they call")
		}
	}
	t.path = append(t.path, open{n, 0, n.bytes})
	for len(t.path) > 0 && t.path[len(t.path)-1].seen == t.path[len(t.path)-1].children {
		t.close()
	}
	return len(t.path) == 0, nil
}

// close ends the last node. What its children do not have is its own.
func (t *tree) close() {
	last := t.path[len(t.path)-1]
	if t.total += last.rest; last.rest > 0 {
		t.samples = append(t.samples, &profile.Sample{Location: t.stack(), Value: []int64{last.rest}})
	}
	t.path = t.path[:len(t.path)-1]
}

// stack returns the locations of the current path, leaf first. Lines with one address are one
// location with inlined functions; if the first of them comes again, it is a function that called
// itself. What is not code, at the end of a stack, is left out.
func (t *tree) stack() (out []*profile.Location) {
	for i := 1; i < len(t.path); {
		first := t.path[i].node
		if first.frame.Function == "" {
			i++
			continue
		}
		frames := []recording.FrameName{first.frame}
		inlined := func(n node) bool { return n.address == first.address && n.frame != first.frame }
		for i++; i < len(t.path) && inlined(t.path[i].node) && !first.below; i++ {
			frames[len(frames)-1].Function = qualified(frames[len(frames)-1])
			frames = append(frames, t.path[i].frame)
		}
		out = append(out, t.location(first, frames))
	}
	return out
}

// libraryHeader matches the names of headers of the C++ standard libraries.
var libraryHeader = lazyregexp.New(
	`\.tcc$|^(stl|std|ranges|shared_ptr|char|ptr|alloc|allocator|pool)_\w+\.h$|^(\w+_allocator|allocator|unique_ptr|shared_ptr|` +
		`basic_string|hashtable\w*|unordered_(map|set)|forward_list|node_handle|invoke|move|deque|list|vector)\.h$`)

// qualified returns the name of an inlined function with its namespace if that is std: Valgrind
// omits namespaces and classes there.
func qualified(f recording.FrameName) string {
	name, _, _ := strings.Cut(f.Function, "<")
	if strings.Contains(name, "::") || !libraryHeader().MatchString(path.Base(f.File)) {
		return f.Function
	}
	return "std::" + f.Function
}

var nodeLine = lazyregexp.New(`^n(\d+): (\d+) (.*)$`)

// parseNode decodes a line of a tree.
func parseNode(line []byte) (n node, depth int, ok bool) {
	rest := bytes.TrimLeft(line, " ")
	m := nodeLine().FindSubmatch(rest)
	if m == nil {
		return n, 0, false
	}
	children, err1 := strconv.ParseUint(string(m[1]), 10, 31)
	size, err2 := strconv.ParseUint(string(m[2]), 10, 63)
	n = node{children: int(children), bytes: int64(size)}
	text := string(m[3])
	switch depth = len(line) - len(rest); {
	case err1 != nil || err2 != nil:
		return n, 0, false
	case depth == 0: // (heap allocation functions) …
	case below().MatchString(text):
		n.below, n.frame.Function = true, recording.Hidden
		return n, depth, n.children == 0
	default:
		ok := n.place(text)
		return n, depth, ok
	}
	return n, depth, true
}

var (
	below = lazyregexp.New(`^in \d+ places?, (all )?below massif's threshold`)
	// place matches 0x10A843: shop::Cache<shop::Page>::load(int) (shop.cc:63), with "(in FILE)"
	// where the line is unknown, and "???" for an unknown function.
	place = lazyregexp.New(`^0x([0-9A-Fa-f]{1,16}): (.*?)(?: \((?:in ([^()]+)|([^()]+):(\d+))\))?$`)
)

// place decodes the function of a line.
func (n *node) place(text string) bool {
	m := place().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	n.address, _ = strconv.ParseUint(m[1], 16, 64)
	n.module = m[3]
	n.frame = recording.FrameName{Function: m[2], File: m[4]}
	n.frame.Line, _ = strconv.ParseInt(m[5], 10, 32)
	if n.frame.Function == "???" {
		n.frame.Function = ""
		if n.module != "" {
			n.frame.Function = recording.Unnamed(n.module, n.address)
		}
	}
	return true
}
