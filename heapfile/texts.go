package heapfile

import (
	"hash/maphash"
)

// textCache maps the text of a stack to its ID. A snapshot repeats nearly all stacks of the one
// before it, byte for byte, and a hash and a comparison are many times cheaper than decoding 32
// addresses.
type textCache struct {
	seed    maphash.Seed
	slots   []uint32 // entry + 1, 0 is free; a power of two long
	entries []textEntry
	arena   []byte
}

type textEntry struct {
	hash       uint64
	begin, end int
	id         StackID
}

// find returns the ID of a text, and its hash, which put needs.
func (c *textCache) find(text []byte) (id StackID, hash uint64, ok bool) {
	if c.slots == nil {
		c.seed = maphash.MakeSeed()
		c.slots = make([]uint32, 1024)
	}
	hash = maphash.Bytes(c.seed, text)
	mask := uint64(len(c.slots) - 1)
	for i := hash & mask; c.slots[i] != 0; i = (i + 1) & mask {
		e := &c.entries[c.slots[i]-1]
		if e.hash == hash && string(c.arena[e.begin:e.end]) == string(text) {
			return e.id, hash, true
		}
	}
	return 0, hash, false
}

// put stores the ID of a text that find did not find.
func (c *textCache) put(text []byte, hash uint64, id StackID) {
	if 2*(len(c.entries)+1) > len(c.slots) {
		c.grow()
	}
	begin := len(c.arena)
	c.arena = append(c.arena, text...)
	c.entries = append(c.entries, textEntry{hash, begin, len(c.arena), id})
	c.insert(hash, uint32(len(c.entries)))
}

func (c *textCache) grow() {
	c.slots = make([]uint32, 2*len(c.slots))
	for i, e := range c.entries {
		c.insert(e.hash, uint32(i)+1)
	}
}

func (c *textCache) insert(hash uint64, slot uint32) {
	mask := uint64(len(c.slots) - 1)
	i := hash & mask
	for c.slots[i] != 0 {
		i = (i + 1) & mask
	}
	c.slots[i] = slot
}
