package dicts

import "github.com/heaplapse/heaplapse/internal/holders/graph"

// words reads the word at an address.
type words = func(address uint64) (uint64, bool)

// Doubtful adds the words of a block without an object that are most likely no references, if it
// has the keys of a dict or the values of attributes.
func (v Version) Doubtful(p *graph.Parts, word func(address uint64) (uint64, bool)) {
	v.prefix(p, word)
	v.order(p, word)
	v.slack(p, word)
}

// prefix adds what is before the values of attributes in 3.11 and 3.12: the order in which they
// were set, one byte each, backwards from the number of attributes and the size of the prefix. The
// rest is not initialized. A prefix of 8 bytes has no address, because of its last byte.
func (v Version) prefix(p *graph.Parts, word words) {
	const least, largest = 16, 32
	if v != 11 && v != 12 {
		return
	}
	for n := uint64(least); n <= largest && n < p.Block.Size(); n += 8 {
		last, _ := word(p.Block.Start + n - 8)
		if last>>56 == n && last>>48&0xff <= MaxShared {
			p.Add(p.Block.Start, p.Block.Start+n)
			return
		}
	}
}

// order adds what is around the values of attributes in 3.13: {capacity, number, embedded, valid},
// a byte each, in a word whose rest is not initialized, and behind them the order in which they
// were set.
func (v Version) order(p *graph.Parts, word words) {
	const alignment = 16
	first, _ := word(p.Block.Start)
	capacity, n, embedded := first&0xff, first>>8&0xff, first>>16&0xff
	end := 8 + 8*capacity
	if v < 13 || capacity == 0 || capacity > MaxShared || n > capacity || embedded != 0 ||
		p.Block.Size() < end+capacity || p.Block.Size() > end+capacity+2*alignment {
		return
	}
	p.Add(p.Block.Start, p.Block.Start+8)
	p.Add(p.Block.Start+end, p.Block.End)
}

// slack adds what is behind the entries of the keys of a dict, and the hashes of the keys. They are
// recognized by their numbers: the entries in use and the usable ones are two thirds of the size, a
// power of 2, or fewer if objects share them. To keys with no reference, which the interpreter keeps for later use,
// nothing belongs (free_keys_object, before 3.13).
func (v Version) slack(p *graph.Parts, word words) {
	const head, largest = 40, 1 << 32
	if p.Block.Size() < head {
		return
	}
	count, _ := word(p.Block.Start)
	second, _ := word(p.Block.Start + 8)
	used, _ := word(p.Block.Start + v.entries())
	usable, _ := word(p.Block.Start + v.entries() - 8)
	if count > largest || used > largest || usable > largest {
		return
	}
	slots, indices, stride, shared := second, second, uint64(24), false
	if v >= 11 {
		logSlots, logIndices := second&0xff, second>>8&0xff
		if logSlots > 32 || logIndices > 35 {
			return
		}
		slots, indices = 1<<logSlots, 1<<logIndices
		if kind := second >> 16 & 0xff; kind != 0 {
			stride, shared = 16, kind == 2
		}
	} else if slots <= largest {
		indices = slots * indexWidth(slots)
	}
	entries := slots * 2 / 3
	isPower := slots&(slots-1) == 0
	if slots < 8 || slots > largest || !isPower || used+usable > entries || used+usable != entries && !shared {
		return
	}
	first := p.Block.Start + v.indices() + indices
	if count == 0 {
		p.Add(first, p.Block.End)
		return
	}
	if stride == 24 {
		p.AddEvery(first, first+stride*entries, stride) // hashes, which are addresses if the keys are
	}
	p.Add(first+stride*entries, p.Block.End)
}
