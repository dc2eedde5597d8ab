//go:build linux

package names

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/symbolize"
)

// link is a word of a block, or of a variable, that leads to a block.
type link struct {
	// via has the members that lead to the word, and inner is the type of the element of a container that has
	// them, or "".
	via, inner string
	to         content
}

// Way is what leads to a block: blocks, of which Skipped are left out behind those of First.
type Way struct {
	First   []blocks.Range
	Skipped int
	Last    []blocks.Range
	// Cycle is the number of blocks at the beginning that are a cycle, of which the last one is the first again; 0:
	// there is none.
	Cycle int
}

// Add adds the block of a step.
func (w *Way) Add(s Step) {
	if s.Skipped > 0 {
		w.First, w.Last, w.Skipped = slices.Concat(w.First, w.Last), nil, s.Skipped
	}
	w.Last = append(w.Last, s.Block)
}

// Steps returns the objects that lie on the way to a block, before [Fold]. v is the variable that leads to the first of
// the blocks, if it is known. If the way goes over containers, vacant has their memory without elements, except for
// that which was returned before: the block may have been an element once.
func (p *Process) Steps(ctx context.Context, v *Variable, way Way) (steps []Step, vacant []Vacant) {
	if way.Skipped == 0 {
		way.First, way.Last = slices.Concat(way.First, way.Last), nil
	}
	w := walk{Process: p, ctx: ctx}
	if v != nil && v.Name == rustOutput && len(way.First) > 1 && p.examine(way.First[0]) {
		w.vacant = []Vacant{{way.First[0], way.First[:1]}}
	}
	if v != nil && len(way.First) > 0 && way.First[0].Contains(v.word) { // or the first blocks are not known
		w.at = p.follow(v.found, v.word)
		if o := w.at.to.owner; o != nil {
			o.root = v.found.inner == 0
		}
		w.at.via = v.found.innerPath
	}
	if way.Cycle > 0 && way.Cycle <= len(way.First) {
		w.around(way.First[:way.Cycle])
	}
	w.all(way.First, len(way.Last) == 0)
	if len(way.Last) > 0 {
		n := len(w.steps)
		w.skip(way)
		inside := w.at.to.kind == nodes // of a container, which is one step
		w.all(way.Last, true)
		if n < len(w.steps) && !inside {
			w.steps[n].Skipped = way.Skipped
		}
	}
	return w.steps, w.vacant
}

// rustOutput is the variable of Rust's standard library, of which there are no types, that has the buffer of the
// standard output: text, and behind it what was in the memory before.
const rustOutput = "std::io::stdio::STDOUT"

// around goes over a cycle once to know what is in its first block: other blocks of the cycle may tell.
func (w *walk) around(cycle []blocks.Range) {
	w.all(cycle[:len(cycle)-1], false)
	last := cycle[len(cycle)-2]
	w.at = w.between(w.ctx, w.was, last, cycle[0])
	w.at.via, w.at.inner = "", ""
	if o := w.at.to.owner; o != nil {
		o.step = -1
	}
	w.steps = nil
}

// all goes over blocks that lead to each other. ends is set if the last one is the one in question.
func (w *walk) all(list []blocks.Range, ends bool) {
	for i, b := range list {
		w.renew()
		c := w.refine(w.ctx, w.at.to, b)
		next := link{}
		if i < len(list)-1 {
			next = w.between(w.ctx, c, b, list[i+1])
			w.vacant = append(w.vacant, w.vacantIn(c, b)...)
		}
		switch {
		case c.owner == nil:
			w.object(c, b, w.at.via, next)
		case ends && i == len(list)-1:
			w.lastOfContainer(c, b, w.at.via)
		default:
			w.container(c, b, w.at.via)
			w.elementOf(b, next.inner)
		}
		w.was, w.at = c, next
	}
}

// steady is the number of nodes before and behind a gap that must be the same.
const steady = 50

// skip goes on behind the blocks that are left out. Only chains have so many: if the nodes before the gap are the same,
// and those behind it lead to each other as such nodes do, those between are taken for such nodes.
func (w *walk) skip(way Way) {
	was := w.was
	w.at = link{}
	if was.kind != object && was.kind != nodes || len(way.First) < steady || len(way.Last) < steady {
		return
	}
	b := way.First[len(way.First)-1]
	before, behind := way.First[len(way.First)-steady:], way.Last[:steady]
	c := was.moved(b, behind[0])
	if !w.isChain(was.moved(b, before[0]), before) || !w.isChain(c, behind) {
		return
	}
	w.at.to = c
	if was.kind == object && len(w.steps) > 0 {
		w.at.via = w.steps[len(w.steps)-1].Via
	}
}

// isChain reports whether blocks of the same size lead to each other, and have the content of the first.
func (w *walk) isChain(c content, list []blocks.Range) bool {
	for i, b := range list[:len(list)-1] {
		w.renew()
		next := list[i+1]
		got := w.refine(w.ctx, w.between(w.ctx, c, b, next).to, next)
		if c = c.moved(b, next); b.Size() != next.Size() || got.kind != c.kind || got.elem != c.elem ||
			got.owner != c.owner || got.kind == object && got.at != c.at {
			return false
		}
	}
	return true
}

// moved returns the same content for another block.
func (c content) moved(from, to blocks.Range) content {
	c.at += to.Start - from.Start
	return c
}

// walk collects steps.
type walk struct {
	*Process
	ctx    context.Context
	steps  []Step
	vacant []Vacant
	// at leads to the next block, and was is the content of the last one.
	at  link
	was content
}

func (w *walk) add(b blocks.Range, via, name string) {
	w.steps = append(w.steps, Step{Block: b, Via: via, Type: name, Length: -1, Limit: -1})
}

// object adds a step for a block of an object. If the object is a container, its memory belongs to the step.
func (w *walk) object(c content, b blocks.Range, via string, next link) {
	w.add(b, via, w.typeOf(c))
	if o := next.to.owner; o != nil && c.kind == object && o.address == c.at && o.step < 0 {
		if ref, _ := c.file.plain(c.elem); ref == o.ref {
			o.step = len(w.steps) - 1
			w.steps[o.step].Length = o.length(w.Memory)
		}
	}
}

// container adds a step for the container whose memory a block is, unless it has one, or is a variable.
func (w *walk) container(c content, b blocks.Range, via string) {
	o := c.owner
	switch {
	case o.step >= 0:
		w.steps[o.step].Block = b
	case !o.root:
		w.containerStep(c, b, via)
	}
}

func (w *walk) containerStep(c content, b blocks.Range, via string) {
	w.add(b, via, c.owner.name(c.owner.ref))
	c.owner.step = len(w.steps) - 1
	w.steps[c.owner.step].Length = c.owner.length(w.Memory)
}

// elementOf adds a step for an element of a container that lies in its memory.
func (w *walk) elementOf(b blocks.Range, name string) {
	if name != "" {
		w.add(b, element, name)
	}
}

// element is the name of the elements of a container.
const element = "[…]"

// lastOfContainer adds steps for memory of a container to which the way leads.
func (w *walk) lastOfContainer(c content, b blocks.Range, via string) {
	class := c.valueClass()
	w.container(c, b, via)
	if class != "" {
		w.elementOf(b, class)
	} else if c.owner.step < 0 {
		w.containerStep(c, b, via)
	}
}

// typeOf returns the type of the object in a block, or "".
func (p *Process) typeOf(c content) string {
	switch {
	case c.class != "":
		return c.class
	case c.kind != object || c.file == nil:
		return ""
	}
	name := c.file.name(c.elem)
	_, t := c.file.plain(c.elem)
	if len(t.Params) > 0 && rustCounted[shortName(template(t.Name))] {
		return c.file.name(t.Params[0])
	}
	if name != "" && isPlain(t) {
		name = strings.TrimSuffix(name+" []", " []")
		if strings.HasSuffix(name, "*") {
			return name + "[]"
		}
		return name + " []"
	}
	return name
}

// rustCounted lists the structures to which Rc and Arc point.
var rustCounted = map[string]bool{"ArcInner": true, "RcInner": true, "RcBox": true}

// follow returns where a word leads that was found in an object.
func (p *Process) follow(f found, value uint64) link {
	l := link{via: f.via(), to: f.to}
	l.to.at = value
	if l.to.kind == object {
		l.to.at += l.to.offset
	}
	return l
}

const (
	// maxRead limits what is read of a block.
	maxRead = 1 << 20
	// maxWords limits the words that are looked at, of those that lead to the same block.
	maxWords = 64
)

// between returns the word of a block that leads to the next one. Words whose type is known are preferred, and those
// that point to the start of the block.
func (p *Process) between(ctx context.Context, c content, b, next blocks.Range) (best link) {
	words := p.wordsTo(b, next)
	for _, w := range words {
		if l := p.linkAt(c, b, next, w); l.to.kind != unknown {
			return l
		} else if best.via == "" {
			best = l
		}
	}
	for _, w := range words {
		if to := p.shared(ctx, w); best.to.kind == unknown && to.kind != unknown {
			best.to = to
		}
	}
	if len(words) == 0 && c.isPointers() { // behind what was read
		return p.linkAt(c, b, next, held{c.at, next.Start})
	}
	return best
}

// held is a word that leads to a block.
type held struct{ address, value uint64 }

// wordsTo returns the words of a block that lead to another one, those to its start first.
func (p *Process) wordsTo(b, to blocks.Range) (list []held) {
	buf := p.read(b)
	for i := 0; i+8 <= len(buf); i += 8 {
		if v := binary.LittleEndian.Uint64(buf[i:]); to.Contains(v) && len(list) < maxWords {
			list = append(list, held{b.Start + uint64(i), v})
		}
	}
	slices.SortStableFunc(list, func(a, b held) int {
		switch {
		case (a.value == to.Start) == (b.value == to.Start):
			return 0
		case a.value == to.Start:
			return -1
		}
		return 1
	})
	return list
}

// read reads the start of a block. The result is valid until the next call.
func (p *Process) read(b blocks.Range) []byte {
	const page = 4096
	for _, size := range []uint64{maxRead, page - b.Start%page} {
		size = min(b.Size(), size)
		p.buf = slices.Grow(p.buf[:0], int(size))
		buf := p.buf[:size]
		if p.Memory.Read(b.Start, buf) == nil {
			return buf
		}
	}
	return nil
}

// linkAt returns where a word of a block leads.
func (p *Process) linkAt(c content, b, next blocks.Range, w held) link {
	switch c.kind {
	case object:
		return p.inObject(c, b, next, w)
	case nodes:
		return p.inNode(c, b, w)
	case buckets:
		c.kind, c.at = nodes, w.value
		return link{to: c}
	case chunks:
		c.kind, c.at = array, w.value
		return link{to: c}
	case array:
		size := c.file.size(c.elem)
		if size == 0 {
			return link{}
		}
		off := (w.address%size + size - c.at%size) % size
		return p.inElement(c, off, w)
	case hashTable:
		size := c.file.size(c.elem)
		if size == 0 || w.address >= c.at {
			return link{}
		}
		return p.inElement(c, (size-(c.at-w.address)%size)%size, w)
	}
	return link{}
}

// inObject returns where a word of an object leads.
func (p *Process) inObject(c content, b, next blocks.Range, w held) link {
	if w.address < c.at {
		if c.offset > 0 { // a link between nodes
			c.at = w.value + c.offset
			return link{to: c}
		}
		return link{}
	}
	off, prefix := w.address-c.at, ""
	size := c.file.size(c.elem)
	_, t := c.file.plain(c.elem)
	switch {
	case isPlain(t) && size > 0:
		off, prefix = off%size, element
	case size > 0 && off >= size && (c.many || p.repeats(size, b) && !c.file.isHeader(t)):
		off, prefix = off%size, element
	}
	f, ok := c.file.find(c.elem, off, w.address-off)
	if !ok {
		return link{}
	}
	l := p.follow(f, w.value)
	l.via = prefix + l.via
	if same, ok := sibling(c, b, next, l.to, w.value); ok {
		l.to = same
	}
	return l
}

// isPointers reports whether a block has pointers only, or nearly so.
func (c content) isPointers() bool {
	const few = 16
	return c.kind == buckets || c.kind == chunks || c.kind == array && c.file.size(c.elem) <= few
}

// sibling recognizes an object of the same type, to which a member leads that every one has: struct list_head,
// for example.
func sibling(c content, b, next blocks.Range, to content, value uint64) (content, bool) {
	off := value - next.Start
	if to.kind != object || off == 0 || c.at != b.Start || b.Size() != next.Size() ||
		!c.file.contains(c.elem, off, to.elem) {
		return content{}, false
	}
	c.at = next.Start
	return c, true
}

// repeats reports whether a block may be an array of structures of a size. What the allocator adds is less than
// 24 bytes, or than a page for large blocks. Two or three of them may as well be a larger structure that begins with
// the one to which the pointer leads.
func (p *Process) repeats(size uint64, b blocks.Range) bool {
	const least, large, page, few = 24, 128 << 10, 4096, 4
	added, header := uint64(least), uint64(8)
	if p.Whole != nil && p.Whole.Region(b.Start) != nil {
		header = 0
	}
	if b.Size() >= large {
		added = page + least
	}
	room := b.Size() - min(b.Size(), header)
	return size > least && room/size >= few && room/size*size+added > b.Size()
}

// isHeader reports whether a structure ends with an array of one element: more of them may follow it.
func (f *file) isHeader(t *symbolize.Type) bool {
	if len(t.Members) == 0 {
		return false
	}
	_, last := f.plain(t.Members[len(t.Members)-1].Type)
	return last.Kind == symbolize.KindArray && len(last.Counts) == 1 && last.Counts[0] <= 1
}

// inNode returns where a word of a node of a container leads.
func (p *Process) inNode(c content, b blocks.Range, w held) link {
	start := b.Start + c.offset
	if w.address < start || w.address-start >= max(c.file.size(c.elem), 1) {
		c.at = w.value // a link between nodes
		return link{to: c}
	}
	return p.inElement(c, w.address-start, w)
}

// inElement returns where a word at an offset of an element of a container leads.
func (p *Process) inElement(c content, off uint64, w held) link {
	f, ok := c.file.find(c.elem, off, w.address-off)
	if !ok {
		return link{}
	}
	if c.kind == nodes && f.to.kind == object && c.file.same(c.elem, f.to.elem) {
		c.at = w.value // a link between nodes
		return link{to: c}
	}
	l := p.follow(f, w.value)
	switch {
	case f.inner != 0:
		l.via, l.inner = f.innerPath, c.file.name(f.inner)
	case f.path != "":
		l.inner = c.file.name(c.elem)
	default:
		l.via = element
	}
	if l.to.kind == array && l.to.owner == nil {
		l.to.owner = c.owner
	}
	return l
}

// moduleAt returns the module whose file is mapped at an address, or nil.
func (p *Process) moduleAt(address uint64) (found *target.Module) {
	m, ok := target.Containing(p.Mappings, address)
	if !ok || !strings.HasPrefix(m.Path, "/") {
		return nil
	}
	for _, mod := range p.Modules {
		if mod.Path == m.Path && mod.Base <= address && (found == nil || mod.Base > found.Base) {
			found = mod
		}
	}
	return found
}
