//go:build linux

package python

import (
	"encoding/binary"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// typ is a type.
type typ struct {
	address    uint64
	flags      uint64
	basic      uint64 // size of an object without items
	item       uint64 // size of an item, or 0
	least      uint64 // size of the smallest object; a str has its text instead of pointers to it
	dictOffset int64  // of the pointer to the dict in an object, or 0
	weakOffset int64  // of the list of weak references in an object, or 0
	attributes uint64 // how many an object has at most outside of a dict, in 3.11 and 3.12; 0 if not read yet
	before     uint8
	kind       kind
	exact      bool // it is the type of the kind, not a subtype
	display    string
	members    map[int64]string // names by offset; nil if not read yet
}

// types finds types by their addresses.
type types struct {
	filter [filterSize / 64]uint64
	all    map[uint64]*typ
}

const (
	filterSize = 1 << 16
	maxTypes   = 1 << 18
	maxPending = 1 << 20
)

func filterBit(address uint64) (int, uint64) {
	h := address * 0x9e3779b97f4a7c15 >> 48
	return int(h / 64), 1 << (h % 64)
}

// at returns the type at an address, or nil.
func (t *types) at(address uint64) *typ {
	if i, bit := filterBit(address); t.filter[i]&bit == 0 {
		return nil
	}
	return t.all[address]
}

func (t *types) add(found *typ) {
	i, bit := filterBit(found.address)
	t.filter[i] |= bit
	t.all[found.address] = found
}

// candidate may be a type: its own type is not known yet.
type candidate struct{ address, of uint64 }

// findTypes finds all types: static ones in the data of modules, and those in blocks.
func (in *Interpreter) findTypes(data []blocks.Range) {
	in.types.all = map[uint64]*typ{}
	in.addType(in.symbols[typeKind])
	pending := append(in.inData(data), in.inBlocks(data)...)
	// A type may be an instance of one that is behind it.
	for range maxBases {
		n := len(pending)
		pending = slices.DeleteFunc(pending, func(c candidate) bool {
			meta := in.types.at(c.of)
			return meta != nil && meta.kind == typeKind && len(in.types.all) < maxTypes && in.addType(c.address)
		})
		if n == len(pending) {
			break
		}
	}
	for _, t := range in.types.all {
		t.kind, t.exact = in.kindOf(t)
		if t.least = t.basic; t.kind == strKind {
			t.least = min(t.basic, in.ascii+1)
		}
	}
}

// inData returns the static types whose type is that of most types.
func (in *Interpreter) inData(data []blocks.Range) (list []candidate) {
	buf := make([]byte, 1<<20)
	for _, r := range data {
		for at := r.Start; at < r.End; at += uint64(len(buf)) {
			b := buf[:min(uint64(len(buf)), r.End-at)]
			if in.read.Memory.Read(at, b) != nil {
				break
			}
			for i := 0; i+8 <= len(b) && len(list) < maxPending; i += 8 {
				if binary.LittleEndian.Uint64(b[i:]) == in.symbols[typeKind] {
					list = append(list, candidate{at + uint64(i) - objectType, in.symbols[typeKind]})
				}
			}
		}
	}
	return list
}

// inBlocks returns what may be types in blocks.
func (in *Interpreter) inBlocks(data []blocks.Range) (list []candidate) {
	words := &in.passes[0]
	for _, r := range in.blocks.Regions() {
		for b := range r.All() {
			if b.Free || b.Size() < headSize+in.typeSize {
				continue
			}
			object := b.Start + headSize
			of, ok := words.Word(object + objectType)
			if !ok || of%8 != 0 || len(list) == maxPending || !in.mayBeType(of, data) {
				continue
			}
			list = append(list, candidate{object, of})
		}
	}
	return list
}

// mayBeType reports whether an address is in the data of a module, or where the object of a large block begins.
func (in *Interpreter) mayBeType(address uint64, data []blocks.Range) bool {
	if slices.ContainsFunc(data, func(r blocks.Range) bool { return r.Contains(address) }) {
		return true
	}
	b, ok := in.blocks.Find(address)
	return ok && !b.Free && address == b.Start+headSize && b.Size() >= headSize+in.typeSize
}

// addType adds the type at an address, if there is one that is ready.
func (in *Interpreter) addType(address uint64) bool {
	const least, largest = 16, 1 << 24
	t := &typ{address: address, flags: in.read.Word(address + typeFlags), basic: in.read.Word(address + typeBasicSize)}
	t.item = in.read.Word(address + typeItemSize)
	t.dictOffset = int64(in.read.Word(address + typeDictOffset))
	t.weakOffset = int64(in.read.Word(address + typeWeakRefs))
	t.before = in.before(t.flags)
	if t.flags&ready == 0 || t.basic < least || t.basic > largest || t.item > largest || in.name(address) == "" ||
		in.read.Word(address+typeMRO) == 0 {
		return false
	}
	if t.flags&typeSubclass != 0 {
		t.kind = typeKind
	}
	in.types.add(t)
	return true
}

const (
	maxName  = 256
	maxBases = 64
)

// name returns tp_name of a type, or "" if it is no text.
func (in *Interpreter) name(t uint64) string {
	name := in.read.Text(in.read.Word(t+typeName), maxName)
	for _, c := range []byte(name) {
		if c < ' ' || c == 0x7f {
			return ""
		}
	}
	return name
}

// kindOf returns the kind of a type, which it has from one of its bases.
func (in *Interpreter) kindOf(t *typ) (k kind, exact bool) {
	for base, n := t.address, 0; base != 0 && n < maxBases; n++ {
		if k, ok := in.kinds[base]; ok {
			return k, base == t.address
		}
		if k, ok := named[in.name(base)]; ok {
			return k, base == t.address
		}
		base = in.read.Word(base + typeBase)
	}
	for _, f := range flagged {
		if t.flags&f.flag != 0 {
			return f.kind, false
		}
	}
	return otherKind, false
}
