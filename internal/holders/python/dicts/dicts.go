// Package dicts reads the dicts of CPython: the keys, which objects of a class share, and the
// values of attributes, which are elsewhere then. Both are in blocks without an object.
package dicts

import (
	"iter"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Version is the minor version of CPython 3.
type Version int

// Entry is a key of a dict and its value: the addresses of objects.
type Entry struct{ Key, Value uint64 }

// Entries iterates over the entries of a dict, given the addresses of its keys and values. If there
// are no values, they are with the keys.
func (v Version) Entries(read *blocks.Reader, keys, values uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		k := v.keysAt(read, keys)
		for i := range k.n {
			at := k.first + i*k.stride + k.key
			e := Entry{read.Word(at), 0}
			if e.Key == 0 && !read.CanRead(at) {
				return
			}
			if values != 0 {
				e.Value = read.Word(v.valuesAt(values) + 8*i)
			} else {
				e.Value = read.Word(at + 8)
			}
			if e.Key != 0 && e.Value != 0 && !yield(e) {
				return
			}
		}
	}
}

// keys are the keys of a dict.
type keys struct {
	n      uint64 // entries, some of which are not in use
	first  uint64 // address of the first one
	stride uint64
	key    uint64 // offset of the key in an entry; the value is behind it
}

const (
	// MaxEntries limits how many entries of a dict are read.
	MaxEntries = 1 << 20
	// MaxShared is the number of attributes that CPython 3.11 and later keep outside of dicts at most
	// (SHARED_KEYS_MAX_SIZE).
	MaxShared = 30
)

// keysAt reads the head of the keys at an address.
//
// 3.8 to 3.10: {reference count, size, lookup, usable, number of entries}, then indices of 1, 2, 4
// or 8 bytes, then entries {hash, key, value}. From 3.11 on: {reference count, logarithms of the
// size and of the size of the indices (1 byte each), kind (1 byte), …, number of entries}; if kind
// is not 0, all keys are str, and entries have no hash.
func (v Version) keysAt(read *blocks.Reader, address uint64) (k keys) {
	if address == 0 || address >= blocks.Topmost {
		return keys{}
	}
	k = keys{n: read.Word(address + v.entries()), stride: 24, key: 8}
	if v >= 11 {
		const most = 40
		if read.Byte(address+10) != 0 {
			k.stride, k.key = 16, 0
		}
		k.first = address + v.indices() + 1<<min(read.Byte(address+9), most)
	} else {
		slots := min(read.Word(address+8), blocks.Topmost)
		k.first = address + v.indices() + slots*indexWidth(slots)
	}
	k.n = min(k.n, MaxEntries)
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
func (v Version) valuesAt(address uint64) uint64 {
	if v >= 13 {
		return address + 8 // behind {capacity, size, embedded, valid}
	}
	return address
}

// entries returns the offset of the number of entries in keys.
func (v Version) entries() uint64 {
	if v >= 11 {
		return 24
	}
	return 32
}

// indices returns the offset of the indices, which are behind it.
func (v Version) indices() uint64 { return v.entries() + 8 }
