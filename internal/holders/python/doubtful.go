//go:build linux

package python

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
)

// Parts is that of [graph.Content].
func (in *Interpreter) Parts(b blocks.Range, list []graph.Part) []graph.Part {
	d := doubts{graph.Parts{Block: b, List: in.noted(b, list)}, in.passes[1].Word}
	o, ok := in.objectIn(b, d.word)
	switch {
	case !ok:
		in.dicts().Doubtful(&d.Parts, d.word)
	case o.dead:
		d.Add(o.address+headSize, b.End)
	default:
		in.objectParts(&d, o)
	}
	return d.List
}

// doubts collects the doubtful parts of a block.
type doubts struct {
	graph.Parts
	word words
}

// noted appends what lists and deques have said of a block. Blocks are asked for by address.
func (in *Interpreter) noted(b blocks.Range, list []graph.Part) []graph.Part {
	if !in.sorted {
		slices.SortFunc(in.slack, func(a, b blocks.Range) int { return cmp.Compare(a.Start, b.Start) })
		slices.SortFunc(in.hashes, func(a, b blocks.Range) int { return cmp.Compare(a.Start, b.Start) })
		in.sorted = true
	}
	list = take(&in.slack, b, list, 0)
	return take(&in.hashes, b, list, setEntry)
}

// take appends the ranges that overlap with a block. They are sorted, and those before the block are removed.
func take(ranges *[]blocks.Range, b blocks.Range, list []graph.Part, every uint64) []graph.Part {
	for len(*ranges) > 0 && (*ranges)[0].End <= b.Start {
		*ranges = (*ranges)[1:]
	}
	for i := 0; i < len(*ranges) && (*ranges)[i].Start < b.End; i++ {
		list = append(list, graph.Part{Range: (*ranges)[i], Every: every})
	}
	return list
}

// objectParts adds the doubtful words of an object.
func (in *Interpreter) objectParts(d *doubts, o object) {
	if o.exact && (o.kind == strKind || o.kind == bytesKind || o.kind == intKind) && in.isWhole(d, o) {
		in.data(d, o)
		return
	}
	end := in.end(d, o)
	d.Add(o.address+end, d.Block.End)
	if n := len(d.List); n > 0 && end < d.Block.Size() && o.exact && in.hasAddress(d, d.List[n-1].Range) {
		d.List[n-1].None = in.isTracked(d, o)
	}
	switch {
	case o.kind.isWeakRef():
		in.weakRef(d, o)
	case o.kind == strKind:
		d.Add(o.address+size, o.address+strState+8)
	case o.exact && o.kind == tupleKind:
		d.Add(o.address+size, o.address+in.tupleItems)
	case o.kind == setKind || o.kind == frozenSetKind:
		const small = 8
		table, end := o.address+setSmallTable, o.address+setSmallTable+setEntry*small
		if in.read.Word(o.address+setTable) == table {
			d.AddEvery(table+8, end, setEntry) // hashes
		} else {
			d.Add(table, end) // the set has grown, and has left its elements there
		}
	case o.kind == frameKind:
		in.frame(d, o)
	case o.kind == codeKind && in.codeBytes != 0:
		// The interpreter keeps what it has found out between the instructions.
		d.Add(o.address+in.codeBytes, d.Block.End)
	}
	in.uninitialized(d, o)
	if o.weakOffset > 0 && !o.kind.isWeakRef() {
		d.Add(o.address+uint64(o.weakOffset), o.address+uint64(o.weakOffset)+8)
	}
	at, _ := in.valuesPointer(o, d.word)
	if (in.minor == 11 || in.minor == 12) && o.kind == dictKind {
		at = o.address + dictValues // those of the object whose attributes it has
	}
	if at != 0 {
		d.List = append(d.List, graph.Part{Range: blocks.Range{Start: at, End: at + 8}, Whole: true})
	}
	if in.minor >= 12 && o.flags&managedWeakRef != 0 {
		d.Add(d.Block.Start, d.Block.Start+8)
	}
}

// hasAddress reports whether a range has the address of a block.
func (in *Interpreter) hasAddress(d *doubts, r blocks.Range) bool {
	for at := r.Start; at+8 <= r.End; at += 8 {
		if w, _ := d.word(at); in.blocks.Region(w) != nil {
			return true
		}
	}
	return false
}

// isTracked reports whether an object is in a list of the garbage collector: then it is one for sure, and has what
// its type says.
func (in *Interpreter) isTracked(d *doubts, o object) bool {
	const flags = 3
	if o.before < headSize {
		return false
	}
	next, _ := d.word(o.address - headSize)
	next &^= flags
	return next != 0 && in.read.Word(next+headSize/2)&^flags == o.address-headSize
}

// isWhole reports whether an object with data only is one for sure: its length fits into the block.
func (in *Interpreter) isWhole(d *doubts, o object) bool {
	const most, immortal = 1 << 24, 1 << 31 // references
	const dataStart = 24                    // of digits, and of the hash that bytes have before the data
	references, _ := d.word(o.address + refcount)
	if n := references & (1<<32 - 1); n > most && n < immortal {
		return false
	}
	n, _ := d.word(o.address + size)
	room := d.Block.End - o.address
	switch o.kind {
	case intKind:
		const tagBits = 3
		if in.minor >= 12 {
			n >>= tagBits // number of digits, and sign
		} else if int64(n) < 0 {
			n = -n
		}
		return n <= room && dataStart+4*max(n, 1) <= room
	case bytesKind:
		return n <= room && dataStart+8+n < room
	}
	state, _ := d.word(o.address + strState)
	return in.text(uint32(state)) != 0 && n <= room && in.text(uint32(state))+n < room
}

// data adds the words of an object with data only, and what is behind it in its block: they are certainly none. A str
// may refer to its text in other encodings.
func (in *Interpreter) data(d *doubts, o object) {
	from := len(d.List)
	if o.kind != strKind {
		d.Add(o.address+size, d.Block.End)
	} else {
		state, _ := d.word(o.address + strState)
		d.Add(o.address+size, o.address+strState+8)
		d.Add(o.address+in.text(uint32(state)), d.Block.End)
	}
	for i := range d.List[from:] {
		d.List[from+i].None = true
	}
}

// uninitialized adds words of an object that are not initialized, or of which only a part is.
func (in *Interpreter) uninitialized(d *doubts, o object) {
	word := func(offset uint64) { d.Add(o.address+offset, o.address+offset+8) }
	const viewInternal, generatorRuns, originBefore = 128, 24, 16
	const teeRead, teeValues = 24, 40
	switch {
	case o.kind == teeDataKind:
		n, _ := d.word(o.address + teeRead) // 32 bits
		d.Add(o.address+teeValues+8*(n&0xffffffff), d.Block.End)
	case o.kind == memoryViewKind:
		word(viewInternal)
	case o.kind == dequeKind:
		if n, ok := in.spares(o, d.word); ok {
			d.Add(o.address+dequeSpares+8*n, o.address+dequeSpares+8*mostSpares)
		}
	case o.kind == functionKind && in.minor >= 11:
		word(o.basic - 8) // its version has 32 bits
	case o.kind.isGenerator() && in.minor <= 10:
		word(generatorRuns)
	case o.kind == generatorKind || o.kind == asyncGeneratorKind:
		word(in.generatorFrame - originBefore)
	}
	if in.minor >= 13 && o.flags&inlineValues != 0 {
		word(o.basic)
		capacity, _ := d.word(o.address + o.basic)
		d.Add(o.address+o.basic+8+8*(capacity&0xff), d.Block.End)
	}
}

// end returns the offset of the end of the references of an object. It is far away if that is not known.
func (in *Interpreter) end(d *doubts, o object) uint64 {
	n, _ := d.word(o.address + size)
	n = min(n, d.Block.Size())
	switch {
	case o.exact && (o.kind == bytesKind || o.kind == intKind || o.kind == floatKind):
		return size // it may be the items of a list that look like an object
	case o.kind == strKind:
		state, _ := d.word(o.address + strState)
		if text := in.text(uint32(state)); text != 0 && o.exact {
			return text
		}
		return topmost
	case o.kind == teeKind, o.kind == memoryViewKind: // the items of a memoryview are numbers
		return o.basic
	case o.exact && o.kind == tupleKind, o.kind == typeKind, o.kind == frameKind && in.frameRuns != 0:
		return o.basic + n*o.item
	case o.kind.isGenerator() && in.generatorFrame != 0:
		return in.frameEnd(d, o.address+in.generatorFrame, o.address+in.generatorFrame-generatorState)
	case o.item != 0, in.minor >= 13 && o.flags&inlineValues != 0, o.kind == otherKind && o.flags&heapType == 0:
		return topmost
	}
	return o.basic
}

// generatorState is a byte before the frame of a generator, from 3.11 on: 1 and more if it has ended.
const generatorState = 5

// frameEnd returns the offset, from the start of its generator, of the end of an interpreter frame that does not run.
func (in *Interpreter) frameEnd(d *doubts, frame, state uint64) uint64 {
	w, _ := d.word(state &^ 7)
	if int8(w>>(state%8*8)) >= 1 {
		return in.generatorFrame + in.frameWords
	}
	top, _ := d.word(frame + frameTop)
	if in.minor >= 14 {
		if start := frame - in.generatorFrame; d.Block.Contains(top) && top > frame && int8(w>>(state%8*8)) < 0 {
			return top - start
		}
	} else if n := int32(top); n >= 0 {
		return in.generatorFrame + in.frameWords + 8*uint64(n)
	}
	return topmost
}

// frame adds what of a frame object is not in use.
func (in *Interpreter) frame(d *doubts, o object) {
	if in.minor >= 11 {
		// The data of a frame that runs is on the data stack.
		if data, _ := d.word(o.address + frameFrame); data != o.address+in.frameData {
			d.Add(o.address+in.frameData, d.Block.End)
		}
		return
	}
	if in.runs(o.address, d.word) {
		d.Add(o.address+headSize, d.Block.End) // it is a root of its own
		return
	}
	const alignment = 7
	d.Add(o.address+(in.frameRuns+1+alignment)&^alignment, o.address+in.frameLocals) // stack of blocks
	const top = 72                                                                   // addresses
	if end, _ := d.word(o.address + top); in.minor < 10 && end != 0 {
		d.Add(end, d.Block.End)
		return
	}
	from, _ := d.word(o.address + frameStack)
	if in.minor == 10 {
		const depth = 80
		n, _ := d.word(o.address + depth)
		from += 8 * uint64(max(int32(n), 0))
	}
	d.Add(from, d.Block.End)
}

// weakRef adds the references of a weak reference that keep nothing in use. They are certainly none if the object
// has the weak reference in its list.
func (in *Interpreter) weakRef(d *doubts, o object) {
	const to, previous, end = 16, 40, 56
	from := len(d.List)
	d.Add(o.address+to, o.address+to+8)
	d.Add(o.address+previous, o.address+end)
	target, _ := d.word(o.address + to)
	before, _ := d.word(o.address + previous)
	if in.isListed(target, before, o.address) {
		for i := range d.List[from:] {
			d.List[from+i].None = true
		}
	}
}

// isListed reports whether an object has a weak reference in its list, first or behind another one.
func (in *Interpreter) isListed(target, before, weak uint64) bool {
	const next = 48
	if before != 0 {
		return in.read.Word(before+next) == weak
	}
	o, ok := in.object(target)
	if !ok {
		return false
	}
	switch {
	case in.minor >= 12 && o.flags&managedWeakRef != 0:
		return in.read.Word(o.address-32) == weak
	case o.weakOffset > 0:
		return in.read.Word(o.address+uint64(o.weakOffset)) == weak
	}
	return false
}

// text returns where the text of a str begins, from its state: interned (2 bits), kind (3), compact, ASCII. It is 0 if
// the text is in another block.
func (in *Interpreter) text(state uint32) uint64 {
	const isCompact, isASCII = 1 << 5, 1 << 6
	switch {
	case state&isCompact == 0:
		return 0
	case state&isASCII != 0:
		return in.ascii
	}
	return in.compact
}
