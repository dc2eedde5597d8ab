//go:build linux

package names

import (
	"encoding/binary"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/symbolize"
)

// kind tells what is in a block.
type kind uint8

const (
	unknown   kind = iota
	object         // an object, or several
	array          // elements of a container
	nodes          // an element of a container, behind links
	buckets        // pointers to nodes
	chunks         // pointers to arrays, of std::deque
	control        // the counters of a std::shared_ptr, perhaps with the object
	hashTable      // elements of a container that lie before an address, last one first, of Rust's HashMap
)

// content is what is known of a block.
type content struct {
	file *file
	kind kind
	// elem is the type of the object, or of an element.
	elem symbolize.TypeRef
	// at is the address of the object, or of the first element.
	at uint64
	// many is set if there are several objects for sure.
	many bool
	// offset is that of the element of a node, or of the object to whose node an iterator leads.
	offset uint64
	// owner is the container whose memory it is, or nil.
	owner *container
	// class is the name of a class without debug information.
	class string
}

// equal reports whether two members of a union lead to the same.
func (c content) equal(other content) bool {
	return c.kind == other.kind && c.elem == other.elem && (c.owner == nil) == (other.owner == nil)
}

// container is an object of a standard library that has elements.
type container struct {
	*file
	ref     symbolize.TypeRef
	address uint64
	// step is the index of its step, or -1. root is set for a variable, which needs none.
	step int
	root bool
}

// containers lists types by their names without inline namespaces and Rust's modules.
var containers = map[string]bool{
	"std::vector": true, "std::basic_string": true, "std::map": true, "std::set": true, "std::multimap": true,
	"std::multiset": true, "std::unordered_map": true, "std::unordered_set": true, "std::unordered_multimap": true,
	"std::unordered_multiset": true, "std::list": true, "std::forward_list": true, "std::deque": true,
	"std::queue": true, "std::stack": true, "std::priority_queue": true,
	"Vec": true, "String": true, "VecDeque": true, "BinaryHeap": true, "LinkedList": true, "BTreeMap": true,
	"BTreeSet": true, "HashMap": true, "HashSet": true, "PathBuf": true, "OsString": true,
}

func isContainer(name string) bool {
	return isStd(name) && containers[shortName(template(name))]
}

// template returns the name of a template without its arguments, or "" if it is a part of one, such as
// "std::vector<int>::iterator".
func template(name string) string {
	start := strings.IndexByte(name, '<')
	if start < 0 {
		return name
	}
	depth := 0
	for i := start; i < len(name); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth == 0 && i < len(name)-1 {
			return ""
		}
	}
	return name[:start]
}

// rule says what the pointers of a part of a container lead to.
type rule struct {
	kind kind
	// param is the index of the type of the elements among the arguments of the template.
	param int
	// header is the size of what is before the element of a node.
	header uint64
	// special has what words at some offsets lead to.
	special map[uint64]kind
	// iterator is set if the elements have the type to which that called pointer points, as gcc writes no arguments.
	iterator bool
}

// rules are those of the parts of containers, by names without inline namespaces. libstdc++ has
// _M_ members; the others are libc++'s and Rust's. What is not here has pointers with the type of the elements.
var rules = map[string]rule{
	"std::_Rb_tree":       {kind: nodes, param: 1, header: 32},
	"std::_Hashtable":     {kind: nodes, param: 1, header: 8, special: map[uint64]kind{0: buckets}},
	"std::_List_base":     {kind: nodes, header: 16},
	"std::_Fwd_list_base": {kind: nodes, header: 8},
	"std::_Deque_base":    {kind: array, special: map[uint64]kind{0: chunks, 40: chunks, 72: chunks}},
	"std::_List_iterator": {kind: object, header: 16, iterator: true},
	"std::shared_ptr":     {special: map[uint64]kind{8: control}},
	"std::weak_ptr":       {special: map[uint64]kind{8: control}},

	"std::__tree":              {kind: nodes, header: 25},
	"std::__hash_table":        {kind: nodes, header: 16, special: map[uint64]kind{0: buckets}},
	"std::__list_imp":          {kind: nodes, header: 16},
	"std::__forward_list_base": {kind: nodes, header: 8},

	"alloc::raw_vec::RawVec":   {kind: array},
	"hashbrown::raw::RawTable": {kind: hashTable},
}

// applyRule corrects what a pointer in a part of a container leads to.
func (l *layout) applyRule(f *found, p place, t *symbolize.Type) {
	f.to.many = f.to.many || l.isSlice(t)
	r, ok := rules[inline.Replace(template(t.Name))]
	if !ok {
		return
	}
	elem := l.elementOf(r, t)
	if elem == 0 {
		return
	}
	k := r.kind
	if special, ok := r.special[p.off]; ok {
		k = special
	}
	if k == unknown {
		return
	}
	owner := p.owner
	switch {
	case r.iterator:
		owner = nil // what it is in has nothing to do with the list
	case owner == nil && k != control:
		return
	}
	align := l.align(elem)
	f.to = content{file: l.file, kind: k, elem: elem, offset: (r.header + align - 1) &^ (align - 1), owner: owner}
}

// elementOf returns the type of the elements of a container by one of its parts, or 0.
func (l *layout) elementOf(r rule, part *symbolize.Type) symbolize.TypeRef {
	switch {
	case r.iterator:
		_, pointer := l.plain(part.Pointer)
		return pointer.Elem
	case r.param < len(part.Params):
		return part.Params[r.param]
	}
	return 0
}

// isSlice reports whether a pointer leads to several objects: std::unique_ptr<T[]>, &[T].
func (l *layout) isSlice(t *symbolize.Type) bool {
	switch {
	case t.Rust:
		return strings.HasPrefix(t.Name, "&[") || strings.HasPrefix(t.Name, "&mut [") || strings.Contains(t.Name, "<[")
	case strings.HasSuffix(template(inline.Replace(t.Name)), "_ptr") && isStd(t.Name) && len(t.Params) > 0:
		_, of := l.plain(t.Params[0])
		return of.Kind == symbolize.KindArray
	}
	return false
}

// length returns the number of elements, or -1.
func (c *container) length(m blocks.Memory) int64 {
	if c.address == 0 {
		return -1
	}
	if off, ok := c.memberOf(c.ref, lengths, 0); ok {
		return count(m, c.address+off)
	}
	from, ok := c.memberOf(c.ref, begins, 0)
	to, okToo := c.memberOf(c.ref, ends, 0)
	_, t := c.plain(c.ref)
	other := strings.Contains(t.Name, "deque<") || strings.Contains(t.Name, "vector<bool")
	if !ok || !okToo || len(t.Params) == 0 || other {
		return -1
	}
	size := c.size(t.Params[0])
	first, last := word(m, c.address+from), word(m, c.address+to)
	if size == 0 || last < first || first == 0 {
		return -1
	}
	return int64((last - first) / size)
}

// Members that have the number of elements, and the start and the end of an array.
var (
	lengths = []string{"_M_node_count", "_M_element_count", "_M_string_length", "_M_size", "len", "length", "items"}
	begins  = []string{"_M_start", "__begin_"}
	ends    = []string{"_M_finish", "__end_"}
)

// memberOf returns the offset of the first member with one of some names, at any depth.
func (f *file) memberOf(ref symbolize.TypeRef, names []string, depth int) (uint64, bool) {
	_, t := f.plain(ref)
	const deepest = 8
	if t.Kind != symbolize.KindStruct || depth > deepest || !isStd(t.Name) {
		return 0, false
	}
	for _, m := range t.Members {
		if !f.spend() {
			return 0, false
		}
		for _, name := range names {
			if m.Name == name {
				return m.Offset, true
			}
		}
		if off, ok := f.memberOf(m.Type, names, depth+1); ok {
			return m.Offset + off, true
		}
	}
	return 0, false
}

// count reads a number of elements.
func count(m blocks.Memory, address uint64) int64 {
	const most = 1 << 40
	if n := word(m, address); n < most {
		return int64(n)
	}
	return -1
}

// word reads a word, or returns 0.
func word(m blocks.Memory, address uint64) uint64 {
	var b [8]byte
	if m.Read(address, b[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}
