package intern

import "hash/maphash"

// Texts maps the text of a stack to its number. A snapshot repeats nearly all stacks of the one
// before it, byte for byte, and a hash and a comparison are many times cheaper than decoding 32
// addresses. The zero value is empty.
type Texts struct {
	seed    maphash.Seed
	slots   []uint32 // entry + 1, 0 is free; a power of two long
	entries []textEntry
	arena   []byte
}

type textEntry struct {
	hash       uint64
	begin, end int
	number     uint32
}

// Find returns the number of a text, and its hash, which Put needs.
func (c *Texts) Find(text []byte) (number uint32, hash uint64, ok bool) {
	if c.slots == nil {
		c.seed = maphash.MakeSeed()
		c.slots = make([]uint32, 1024)
	}
	hash = maphash.Bytes(c.seed, text)
	mask := uint64(len(c.slots) - 1)
	for i := hash & mask; c.slots[i] != 0; i = (i + 1) & mask {
		e := &c.entries[c.slots[i]-1]
		if e.hash == hash && string(c.arena[e.begin:e.end]) == string(text) {
			return e.number, hash, true
		}
	}
	return 0, hash, false
}

// Put stores the number of a text that Find did not find.
func (c *Texts) Put(text []byte, hash uint64, number uint32) {
	if 2*(len(c.entries)+1) > len(c.slots) {
		c.grow()
	}
	begin := len(c.arena)
	c.arena = append(c.arena, text...)
	c.entries = append(c.entries, textEntry{hash, begin, len(c.arena), number})
	c.insert(hash, uint32(len(c.entries)))
}

func (c *Texts) grow() {
	c.slots = make([]uint32, 2*len(c.slots))
	for i, e := range c.entries {
		c.insert(e.hash, uint32(i)+1)
	}
}

func (c *Texts) insert(hash uint64, slot uint32) {
	mask := uint64(len(c.slots) - 1)
	i := hash & mask
	for c.slots[i] != 0 {
		i = (i + 1) & mask
	}
	c.slots[i] = slot
}
