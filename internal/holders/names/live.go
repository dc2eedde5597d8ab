//go:build linux

package names

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/symbolize"
)

// dead returns the parts of a block of a container's memory that have no elements, by address, as the members of the
// container tell. The pointers there are those of elements that were removed. Containers whose nodes are freed with
// their elements have none.
func (c content) dead(m blocks.Memory, b blocks.Range) []blocks.Range {
	v := vacancy{content: c, memory: m, block: b}
	_, t := c.owner.plain(c.owner.ref)
	switch name := shortName(template(t.Name)); {
	case c.kind == hashTable:
		return v.ofHashTable()
	case c.kind == nodes && (name == "BTreeMap" || name == "BTreeSet"):
		return v.ofTreeNode()
	case name == "VecDeque" && c.kind == array:
		return v.ofRing()
	case c.kind == chunks || c.kind == array && v.has("_M_map"):
		return v.ofDeque()
	case c.kind == array && !strings.Contains(t.Name, "vector<bool"):
		return v.ofVector()
	}
	return nil
}

// Vacant is the memory of a container that has no elements: parts of its block, by address.
type Vacant struct {
	Block blocks.Range
	Parts []blocks.Range
}

// examine reports whether a block has not been examined before.
func (p *Process) examine(b blocks.Range) bool {
	if p.examined[b] {
		return false
	}
	if p.examined == nil {
		p.examined = map[blocks.Range]bool{}
	}
	p.examined[b] = true
	return true
}

// vacantIn returns the memory without elements of a block of a container. That of each block is returned once: many
// ways go over the same container.
func (p *Process) vacantIn(c content, b blocks.Range) (list []Vacant) {
	if c.owner == nil || c.owner.address == 0 || !p.examine(b) {
		return nil
	}
	if parts := c.dead(p.Memory, b); len(parts) > 0 {
		list = []Vacant{{b, parts}}
	}
	return list
}

// vacancy looks for the memory of a container without elements.
type vacancy struct {
	content content
	memory  blocks.Memory
	block   blocks.Range
}

// has reports whether the container has a member.
func (v *vacancy) has(name string) bool {
	_, ok := v.offset(name)
	return ok
}

func (v *vacancy) offset(names ...string) (uint64, bool) {
	owner := v.content.owner
	owner.left = maxWork
	return owner.memberOf(owner.ref, names, 0)
}

// member returns the word of the first member with one of some names.
func (v *vacancy) member(names ...string) (value uint64, ok bool) {
	off, ok := v.offset(names...)
	return word(v.memory, v.content.owner.address+off), ok
}

// within returns the parts of ranges in the block that are not empty.
func (v *vacancy) within(list ...blocks.Range) (in []blocks.Range) {
	for _, r := range list {
		r.Start, r.End = max(r.Start, v.block.Start), min(r.End, v.block.End)
		if r.Start < r.End {
			in = append(in, r)
		}
	}
	return in
}

// elementSize returns the size of an element, or 0.
func (v *vacancy) elementSize() uint64 { return v.content.file.size(v.content.elem) }

// isFirst reports whether the elements of the container begin with the block.
func (v *vacancy) isFirst() bool {
	start, ok := v.member(begins...)
	if !ok {
		start, ok = v.member("ptr")
	}
	return ok && start == v.block.Start
}

// ofVector is for std::vector and Vec.
func (v *vacancy) ofVector() []blocks.Range {
	if !v.isFirst() {
		return nil
	}
	end, ok := v.member(ends...)
	if n, isRust := v.member("len"); !ok && isRust {
		end, ok = v.block.Start+mul(n, v.elementSize()), n == 0 || mul(n, v.elementSize()) > 0
	}
	if !ok || end < v.block.Start {
		return nil
	}
	return v.within(blocks.Range{Start: end, End: v.block.End})
}

// ofRing is for VecDeque: from index head on, len elements, of which the last ones may be at the start. Before Rust
// 1.67, they are from index tail to head, and the capacity is a power of two.
func (v *vacancy) ofRing() []blocks.Range {
	size := v.elementSize()
	capacity, ok := v.member("cap")
	head, hasHead := v.member("head")
	n, hasLen := v.member("len")
	if tail, older := v.member("tail"); older {
		head, n, hasLen = tail, (head-tail)&(capacity-1), true
	}
	known := ok && hasHead && hasLen && v.isFirst() && mul(capacity, size) > 0
	if !known || head > capacity || n > capacity {
		return nil
	}
	at := func(i uint64) uint64 { return v.block.Start + i*size }
	if head+n <= capacity {
		return v.within(blocks.Range{Start: at(0), End: at(head)}, blocks.Range{Start: at(head + n), End: at(capacity)})
	}
	return v.within(blocks.Range{Start: at(head + n - capacity), End: at(head)})
}

// ofHashTable is for HashMap: the elements lie before the control bytes, the first one last. The highest bit of a
// control byte is set if there is none.
func (v *vacancy) ofHashTable() (list []blocks.Range) {
	const empty = 0x80
	size, control := v.elementSize(), v.content.at
	mask, ok := v.member("bucket_mask")
	if !ok || size == 0 || mask >= (v.block.End-v.block.Start) || !v.block.Contains(control) {
		return nil
	}
	bytes := make([]byte, mask+1)
	if v.memory.Read(control, bytes) != nil {
		return nil
	}
	for i := uint64(len(bytes)); i > 0; i-- {
		start := control - min(control, i*size)
		switch r := (blocks.Range{Start: start, End: start + size}); {
		case bytes[i-1]&empty == 0:
		case len(list) > 0 && list[len(list)-1].End == start:
			list[len(list)-1].End = r.End
		default:
			list = append(list, v.within(r)...)
		}
	}
	return list
}

// ofTreeNode is for the nodes of BTreeMap: struct LeafNode has arrays of keys and values, and their number. In a node
// that has children, an array of pointers to them follows.
func (v *vacancy) ofTreeNode() []blocks.Range {
	_, t := v.content.file.plain(v.content.elem)
	offsets := map[string]symbolize.Member{}
	for _, m := range t.Members {
		offsets[m.Name] = m
	}
	var b [2]byte
	length, ok := offsets["len"]
	if !ok || v.memory.Read(v.block.Start+length.Offset, b[:]) != nil {
		return nil
	}
	n := uint64(b[0]) | uint64(b[1])<<8
	var list []blocks.Range
	for _, name := range []string{"keys", "vals"} {
		m := offsets[name]
		_, array := v.content.file.plain(m.Type)
		if array.Kind != symbolize.KindArray || len(array.Counts) != 1 || n > array.Counts[0] {
			continue
		}
		size, start := v.content.file.size(array.Elem), v.block.Start+m.Offset
		list = append(list, v.within(blocks.Range{Start: start + n*size, End: start + array.Counts[0]*size})...)
	}
	children := v.block.Start + (t.Size+wordSize-1)&^(wordSize-1)
	list = append(list, v.within(blocks.Range{Start: children + (n+1)*wordSize, End: v.block.End})...)
	slices.SortFunc(list, func(a, b blocks.Range) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

const wordSize = 8

// maxMap limits the map of a std::deque, in bytes.
const maxMap = 64 << 20

// ofDeque is for std::deque of libstdc++, whose map has pointers to arrays. Those of the elements are between the nodes
// of two iterators (bits/stl_deque.h).
func (v *vacancy) ofDeque() []blocks.Range {
	const cur, first, node = 0, 8, 24 // offsets in std::_Deque_iterator
	start, ok := v.offset("_M_start")
	finish, okToo := v.offset("_M_finish")
	if !ok || !okToo {
		return nil
	}
	at := func(iterator, member uint64) uint64 { return word(v.memory, v.content.owner.address+iterator+member) }
	from, to := at(start, node), at(finish, node)
	if from > to || to-from > maxMap {
		return nil
	}
	if v.content.kind == chunks {
		if !v.block.Contains(from) || !v.block.Contains(to) {
			return nil
		}
		return v.within(blocks.Range{Start: v.block.Start, End: from}, blocks.Range{Start: to + wordSize, End: v.block.End})
	}
	nodes := make([]byte, to-from+wordSize)
	if v.memory.Read(from, nodes) != nil {
		return nil
	}
	inUse := false
	for i := 0; i < len(nodes); i += wordSize {
		inUse = inUse || v.block.Contains(binary.LittleEndian.Uint64(nodes[i:]))
	}
	live := v.block
	if v.block.Contains(at(start, first)) {
		live.Start = at(start, cur)
	}
	if v.block.Contains(at(finish, first)) {
		live.End = at(finish, cur)
	}
	if !inUse || live.End < live.Start {
		return []blocks.Range{v.block}
	}
	return v.within(blocks.Range{Start: v.block.Start, End: live.Start}, blocks.Range{Start: live.End, End: v.block.End})
}
