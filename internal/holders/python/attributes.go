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
	if in.minor <= 12 {
		_, values := in.valuesPointer(o, in.known)
		return values
	}
	const valid = 3 // byte of {capacity, size, embedded, valid}
	at := o.address + o.basic
	if o.flags&inlineValues != 0 && in.read.Word(o.address-24) == 0 && in.read.Byte(at+valid) != 0 {
		return at
	}
	return 0
}

// valuesPointer returns the address of the word of an object of 3.11 or 3.12 that has the address of the values of
// its attributes, which lies in the interior of their block, and that address; 0 if there is none.
func (in *Interpreter) valuesPointer(o object, word words) (at, values uint64) {
	if o.flags&managedDict == 0 {
		return 0, 0
	}
	switch in.minor {
	case 11:
		at = o.address - 32
		if values, _ = word(at); values != 0 {
			return at, values
		}
	case 12:
		at = o.address - 24
		if v, _ := word(at); v&1 != 0 {
			return at, v + 1
		}
	}
	return 0, 0
}

// noteAttributes notes what is behind the values of the attributes of an object of 3.11 or 3.12. Older objects of a
// type have room for more attributes than its keys permit now.
func (in *Interpreter) noteAttributes(o object, word words) {
	_, values := in.valuesPointer(o, word)
	if values == 0 {
		return
	}
	if o.typ.attributes == 0 {
		o.typ.attributes = in.shared(in.read.Word(o.typ.address + in.cachedKeys))
	}
	in.noteBehind(values, o.typ.attributes)
}

// shared returns how many attributes keys have room for that objects share, in 3.11 and 3.12.
func (in *Interpreter) shared(keys uint64) uint64 {
	const usable, entries = 16, 24
	return in.read.Word(keys+usable) + in.read.Word(keys+entries)
}

// noteBehind notes what is behind some values, in 3.11 and 3.12.
func (in *Interpreter) noteBehind(values, n uint64) {
	if b, ok := in.blocks.Find(values); ok && n <= dicts.MaxShared {
		in.noteSlack(b.Start, values+8*n, topmost)
	}
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
