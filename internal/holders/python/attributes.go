//go:build linux

package python

import (
	"iter"

	"github.com/heaplapse/heaplapse/internal/holders/python/dicts"
)

// maxAttributes is the number of attributes from which on the dict of an object is taken for data. maxVariables limits
// how many variables of a module are read.
const maxAttributes, maxVariables = 1000, 1 << 14

// attributes iterates over the attributes of an object that are not in slots.
func (in *Interpreter) attributes(o object) iter.Seq[dicts.Entry] {
	if values := in.values(o); values != 0 {
		return in.entriesOf(in.read.Word(o.typ.address+in.cachedKeys), values)
	}
	if at := in.dictPointer(o); at != 0 {
		// A dict may be its own: then its keys are data.
		if d, ok := in.object(in.read.Word(at)); ok && d.kind == dictKind && d.address != o.address {
			return in.dict(d.address)
		}
	}
	return func(func(dicts.Entry) bool) {}
}

// values returns the address of the values of the attributes of an object that has no dict yet, or 0.
//
// They are in a block of their own in 3.11 (address at -32) and 3.12 (address - 1 at -24), and behind the object in
// 3.13.
func (in *Interpreter) values(o object) uint64 {
	if o.flags&managedDict == 0 {
		return 0
	}
	switch at := in.valuesPointer(o); in.minor {
	case 11:
		return in.read.Word(at)
	case 12:
		if v := in.read.Word(at); v&1 != 0 {
			return v + 1
		}
	case 13, 14:
		const valid = 3 // byte of {capacity, size, embedded, valid}
		at := o.address + o.basic
		if o.flags&inlineValues != 0 && in.read.Word(o.address-24) == 0 && in.read.Byte(at+valid) != 0 {
			return at
		}
	}
	return 0
}

// valuesPointer returns the address of the word of an object that has the address of the values of its attributes, which
// lies in the interior of their block; 0 if there is no such word.
func (in *Interpreter) valuesPointer(o object) uint64 {
	switch {
	case o.flags&managedDict == 0:
		return 0
	case in.minor == 11:
		return o.address - 32
	case in.minor == 12:
		return o.address - 24
	}
	return 0
}

// dictPointer returns the address of the word of an object that has the address of its dict, or 0.
func (in *Interpreter) dictPointer(o object) uint64 {
	switch {
	case in.minor >= 11 && o.flags&managedDict != 0:
		return o.address - 24
	case o.dictOffset > 0:
		return o.address + uint64(o.dictOffset)
	case o.dictOffset < 0 && in.minor <= 11:
		return in.behindItems(o)
	}
	return 0
}

// behindItems returns the address of the pointer to the dict of an object with a variable number of items.
func (in *Interpreter) behindItems(o object) uint64 {
	n := int64(in.read.Word(o.address + size))
	if n < 0 {
		n = -n // an int
	}
	if uint64(n) > dicts.MaxEntries || o.item > page {
		return 0
	}
	end := (o.basic + uint64(n)*o.item + 7) &^ 7
	return o.address + end - uint64(-o.dictOffset)
}
