//go:build linux

package python

import "iter"

// entry is one of a dict.
type entry struct{ key, value uint64 }

// keys are the keys of a dict.
type keys struct {
	n      uint64 // entries, some of which are not in use
	first  uint64 // address of the first one
	stride uint64
	key    uint64 // offset of the key in an entry; the value is behind it
}

// maxEntries limits how many entries of a dict are read.
const maxEntries = 1 << 20

// keysAt reads the head of the keys at an address.
//
// 3.8 to 3.10: {reference count, size, lookup, usable, number of entries}, then indices of 1, 2, 4 or 8 bytes, then
// entries {hash, key, value}. From 3.11 on: {reference count, logarithms of the size and of the size of the indices
// (1 byte each), kind (1 byte), …, number of entries}; if kind is not 0, all keys are str, and entries have no hash.
func (in *Interpreter) keysAt(address uint64) (k keys) {
	if address == 0 || address >= topmost {
		return keys{}
	}
	k = keys{n: in.read.Word(address + in.entries), stride: 24, key: 8}
	if in.minor >= 11 {
		const most = 40
		if in.read.Byte(address+10) != 0 {
			k.stride, k.key = 16, 0
		}
		k.first = address + in.indices + 1<<min(in.read.Byte(address+9), most)
	} else {
		slots := min(in.read.Word(address+8), topmost)
		k.first = address + in.indices + slots*indexWidth(slots)
	}
	k.n = min(k.n, maxEntries)
	return k
}

// indexWidth returns the number of bytes of an index of the keys of a dict up to 3.10.
func indexWidth(slots uint64) uint64 {
	switch {
	case slots <= 0xff:
		return 1
	case slots <= 0xffff:
		return 2
	case slots <= 0xffffffff:
		return 4
	}
	return 8
}

// valuesAt returns the address of the first value of the values at an address.
func (in *Interpreter) valuesAt(address uint64) uint64 {
	if in.minor >= 13 {
		return address + 8 // behind {capacity, size, embedded, valid}
	}
	return address
}

// dict iterates over the entries of a dict.
func (in *Interpreter) dict(d uint64) iter.Seq[entry] {
	return in.entriesOf(in.read.Word(d+dictKeys), in.read.Word(d+dictValues))
}

// entriesOf iterates over keys and values. If there are no values, they are with the keys.
func (in *Interpreter) entriesOf(keys, values uint64) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		k := in.keysAt(keys)
		for i := range k.n {
			at := k.first + i*k.stride + k.key
			e := entry{in.read.Word(at), 0}
			if e.key == 0 && !in.read.CanRead(at) {
				return
			}
			if values != 0 {
				e.value = in.read.Word(in.valuesAt(values) + 8*i)
			} else {
				e.value = in.read.Word(at + 8)
			}
			if e.key != 0 && e.value != 0 && !yield(e) {
				return
			}
		}
	}
}

// lookup returns the value of a key that is a str.
func (in *Interpreter) lookup(d uint64, name string) (uint64, bool) {
	const most = 1 << 12
	n := 0
	for e := range in.dict(d) {
		if n++; n > most {
			break
		}
		if in.str(e.key) == name {
			return e.value, true
		}
	}
	return 0, false
}
