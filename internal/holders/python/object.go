//go:build linux

package python

import (
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// object is an object in a block.
type object struct {
	*typ
	address uint64
	// dead says that it is kept for later use: nothing refers to it, and its content is old.
	dead bool
}

// isRefcount reports whether a word may be a reference count, and not an address, as where the items of a list look
// like an object. That of an immortal object has 32 bits. From 3.14 on, the upper 16 bits are flags.
func (in *Interpreter) isRefcount(n uint64) bool {
	const most, maxFlags, usual = 1 << 40, 1 << 8, 1 << 20
	if in.minor >= 14 && n>>48 < maxFlags {
		n &= 1<<48 - 1
	}
	return n != 0 && n < most && (n < usual || n%8 != 0 || !in.isAddress(n))
}

// isAddress reports whether an address is in a block, or in data of modules with low addresses.
func (in *Interpreter) isAddress(n uint64) bool {
	return in.blocks.Region(n) != nil || slices.ContainsFunc(in.low, func(r blocks.Range) bool { return r.Contains(n) })
}

// words reads the word at an address.
type words func(address uint64) (uint64, bool)

// objectIn returns the object in a block.
func (in *Interpreter) objectIn(b blocks.Range, word words) (o object, ok bool) {
	// The word before an object with a head is never a type, but the digits of an int may be the address of one.
	for _, before := range [...]uint8{0, headSize, 2 * headSize} {
		at := b.Start + uint64(before)
		if b.Size() < uint64(before)+headSize {
			break
		}
		of, _ := word(at + objectType)
		t := in.types.at(of)
		if t == nil || t.before != before || b.End-at < t.least {
			continue
		}
		n, _ := word(at + refcount)
		if in.isRefcount(n) {
			return object{typ: t, address: at}, true
		}
		if n == 0 && before >= headSize && isUntracked(at, word) {
			return object{typ: t, address: at, dead: true}, true
		}
	}
	return object{}, false
}

// isUntracked reports whether the garbage collector does not know an object. Only flags are left in its head.
func isUntracked(object uint64, word words) bool {
	const flags = 3
	next, _ := word(object - headSize)
	previous, _ := word(object - headSize/2)
	return next == 0 && previous&^flags == 0
}

// TypeIn returns the name of the type of the object in a block, or "" if there is none.
func (in *Interpreter) TypeIn(b blocks.Range, word func(address uint64) (uint64, bool)) string {
	o, ok := in.objectIn(b, word)
	if !ok || o.dead {
		return ""
	}
	return in.display(o.typ)
}

// Object is that of [graph.Content].
func (in *Interpreter) Object(b blocks.Range) (before uint8, ok bool) {
	o, ok := in.objectIn(b, in.passes[0].Word)
	if !ok {
		return 0, false
	}
	if !o.dead {
		in.note(o, in.passes[0].Word)
	}
	return o.before, !o.dead
}

// maxFound limits how many modules and frames are remembered, and maxSlack how many ranges.
const maxFound, maxSlack = 1 << 18, 1 << 22

// note remembers modules, frames that run, and parts of other blocks that are not in use.
func (in *Interpreter) note(o object, word words) {
	switch {
	case o.kind == moduleKind && len(in.found.modules) < maxFound:
		in.found.modules = append(in.found.modules, o.address)
	case o.kind == frameKind && in.frameRuns != 0 && len(in.found.frames) < maxFound && in.runs(o.address, word):
		in.found.frames = append(in.found.frames, o.address)
	case o.kind == listKind:
		in.noteList(o, word)
	case o.kind == dequeKind:
		in.noteDeque(o, word)
	case o.kind == setKind || o.kind == frozenSetKind:
		in.noteSet(o, word)
	case o.kind == capsuleKind:
		in.noteCapsule(o, word)
	case o.kind == dictKind && in.minor <= 12:
		in.noteValues(o, word)
	case o.kind == codeKind && in.minor <= 10:
		// What the interpreter has found out about global variables.
		const cache = 160
		start, _ := word(o.address + cache)
		in.noteSlack(start, start, topmost)
	case o.kind == byteArrayKind:
		const buffer = 32
		start, _ := word(o.address + buffer)
		in.noteSlack(start, start, topmost)
	case o.kind == bufferedKind:
		in.noteBuffer(o, word)
	}
	in.noteAttributes(o, word)
}

// noteList notes what is behind the items of a list in their block.
func (in *Interpreter) noteList(o object, word words) {
	const items = 24
	n, _ := word(o.address + size)
	first, _ := word(o.address + items)
	if first%8 != 0 || n > topmost/8 {
		return
	}
	in.noteSlack(first, first+8*n, topmost)
}

// noteCapsule notes the table of all instances of pybind11 (detail/internals.h), which is in a capsule: it finds them,
// but does not hold them.
func (in *Interpreter) noteCapsule(o object, word words) {
	const pointer, name, longest = 16, 24, 32
	const prefix = "__pybind11_internals_"
	text, _ := word(o.address + name)
	if strings.HasPrefix(in.read.Text(text, longest), prefix) {
		at, _ := word(o.address + pointer)
		if b, ok := in.blocks.Find(in.read.Word(at)); ok {
			in.noteSlack(b.Start, b.Start, b.End)
		}
	}
}

// noteValues notes what is behind the values of attributes that a dict has, up to 3.12. Their number is that of the
// keys, which are those of all objects of a type: two thirds of the size up to 3.10.
func (in *Interpreter) noteValues(o object, word words) {
	values, _ := word(o.address + dictValues)
	keys, _ := word(o.address + dictKeys)
	if values == 0 {
		return
	}
	if in.minor >= 11 {
		in.noteBehind(values, in.shared(keys))
	} else if slots := in.read.Word(keys + 8); slots < 1<<10 {
		in.noteSlack(values, values+8*(slots*2/3), topmost)
	}
}

// noteSet notes the hashes in the table of a set. The hash of an int is its value, which is an address if the set
// has those of objects.
func (in *Interpreter) noteSet(o object, word words) {
	mask, _ := word(o.address + setMask)
	table, _ := word(o.address + setTable)
	b, ok := in.blocks.Find(table)
	if ok && b.Start == table && mask < topmost/setEntry && len(in.hashes) < maxSlack {
		in.hashes = append(in.hashes, blocks.Range{Start: table + 8, End: min(b.End, table+setEntry*(mask+1))})
	}
}

// noteDeque notes what is before the first item and behind the last one in the blocks of a deque, which have 64
// items between two links. The outer links of the outer blocks are not initialized. From 3.11 on, a deque keeps some
// blocks that it has emptied, with the items that were there.
func (in *Interpreter) noteDeque(o object, word words) {
	spares, _ := in.spares(o, word)
	for i := range spares {
		block, _ := word(o.address + dequeSpares + 8*i)
		in.noteSlack(block, block, topmost)
	}
	const left, right, leftIndex, rightIndex, items, most = 24, 32, 40, 48, 8, 64
	first, _ := word(o.address + left)
	last, _ := word(o.address + right)
	i, _ := word(o.address + leftIndex)
	j, _ := word(o.address + rightIndex)
	if i <= most && first%8 == 0 {
		in.noteSlack(first, first, first+items+8*i)
	}
	if j < most && last%8 == 0 {
		in.noteSlack(last, last+items+8*(j+1), last+items+8*(most+1))
	}
}

// In struct dequeobject, from 3.11 on: the blocks that were emptied, and their number before that.
const dequeSpare, dequeSpares, mostSpares = 72, 80, 16

// spares returns how many emptied blocks a deque has, or ok false if it has no room for them.
func (in *Interpreter) spares(o object, word words) (n uint64, ok bool) {
	n, _ = word(o.address + dequeSpare)
	if in.minor < 11 || n > mostSpares || o.basic < dequeSpares+8*mostSpares {
		return 0, false
	}
	return n, true
}

// noteBuffer notes the buffer of a file, the first block without an object: what of it is not in use was not cleared.
func (in *Interpreter) noteBuffer(o object, word words) {
	for offset := uint64(headSize); offset < min(o.basic, page); offset += 8 {
		start, _ := word(o.address + offset)
		if b, ok := in.blocks.Find(start); ok && b.Start == start && start%8 == 0 {
			if _, isObject := in.objectIn(b.Range, in.known); !isObject {
				in.noteSlack(start, start, topmost)
				return
			}
		}
	}
}

// noteSlack notes a part of the block that starts at an address, as far as it is in the block.
func (in *Interpreter) noteSlack(block, from, to uint64) {
	r := in.blocks.Region(block)
	if r == nil || len(in.slack) == maxSlack {
		return
	}
	b, _, ok := r.Find(block)
	if to = min(to, b.End); ok && !b.Free && b.Start == block && from < to {
		in.slack = append(in.slack, blocks.Range{Start: from, End: to})
	}
}

// runs reports whether a frame of a version up to 3.10 runs: f_executing is 1, in 3.10 f_state is 0.
func (in *Interpreter) runs(frame uint64, word words) bool {
	at := frame + in.frameRuns
	w, ok := word(at &^ 7)
	state := int8(w >> (at % 8 * 8))
	return ok && (state == 0) == (in.minor == 10)
}

// object returns the object at an address.
func (in *Interpreter) object(address uint64) (object, bool) {
	if address == 0 || address%8 != 0 {
		return object{}, false
	}
	t := in.types.at(in.read.Word(address + objectType))
	if t == nil || !in.isRefcount(in.read.Word(address+refcount)) {
		return object{}, false
	}
	return object{typ: t, address: address}, true
}
