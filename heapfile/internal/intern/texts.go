package intern

import "hash/maphash"

// Texts maps the text of a stack to its number. A snapshot repeats nearly all stacks of the one
// before it, byte for byte, and a hash and a comparison are many times cheaper than decoding 32
// addresses. The zero value is empty.
type Texts struct {
	seed    maphash.Seed
	slots   []uint32 // entry + 1, 0 is free; a power of two long
	entries []textEntry
	last    []byte   // the used part of the last chunk
	chunks  [][]byte // of the texts. They are not moved: to copy all texts would take their size again
}

type textEntry struct {
	hash   uint64
	at     place
	number uint32
}

// textChunk is the size of a chunk in bytes. A longer text has a chunk of its own.
const textChunk = 1 << 16

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
		if e.hash == hash && string(c.text(e.at)) == string(text) {
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
	c.entries = append(c.entries, textEntry{hash, c.store(text), number})
	c.insert(hash, uint32(len(c.entries)))
}

// Growth returns about the number of bytes that the next Put allocates, without those of the text.
func (c *Texts) Growth() (bytes int64) {
	const slot, entry = 4, 24 // bytes
	n := int64(len(c.entries))
	if 2*(n+1) > int64(len(c.slots)) {
		bytes += 2 * slot * int64(len(c.slots))
	}
	if len(c.entries) == cap(c.entries) {
		bytes += entry * (n + n/4)
	}
	return bytes
}

func (c *Texts) text(p place) []byte { return c.chunks[p.chunk][p.begin : p.begin+p.n] }

func (c *Texts) store(text []byte) place {
	if len(c.chunks) == 0 || len(text) > cap(c.last)-len(c.last) {
		c.last = make([]byte, 0, max(textChunk, len(text)))
		c.chunks = append(c.chunks, c.last[:cap(c.last)])
	}
	p := place{uint32(len(c.chunks) - 1), uint32(len(c.last)), uint32(len(text))}
	c.last = append(c.last, text...)
	return p
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
