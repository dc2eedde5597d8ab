package heapfile

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// StackID is the index of a stack in a [StackTable].
type StackID uint32

// Space identifies one address space: one process image and one generation of
// its mappings. An address means something only within its Space. The
// mappings of a Space are in [Series.Spaces].
type Space uint32

// StackTable holds each stack of a series once. Stacks are numbered in order
// of first appearance, so that the numbering is the same in every run.
//
// It is safe for concurrent readers once reading has ended.
type StackTable struct {
	set    stackSet
	spaces []Space
}

// Len is the number of stacks; valid IDs are 0 … Len()-1.
func (t *StackTable) Len() int { return len(t.spaces) }

// Addrs is the stack, leaf first. The caller must not change it.
func (t *StackTable) Addrs(id StackID) []Addr { return t.set.addrsOf(id) }

// Space is the address space of the stack: the one in which it first appeared.
func (t *StackTable) Space(id StackID) Space { return t.spaces[id] }

// intern returns the ID of the stack with these addresses in an epoch, which
// separates process images; a new stack is put into the given space.
func (t *StackTable) intern(epoch uint64, space Space, addrs []Addr) StackID {
	id, added := t.set.intern(epoch, addrs)
	if added {
		t.spaces = append(t.spaces, space)
	}
	return id
}

// stackSet interns address sequences: an open-addressing table over one arena.
// The hash is seeded, so that no crafted file can make it degenerate.
type stackSet struct {
	seed   uint64
	slots  []uint32 // ID + 1, 0 is free; a power of two long
	hashes []uint64 // by ID
	salts  []uint64 // by ID
	ends   []int    // by ID: end of its addresses in arena
	arena  []Addr
}

func (s *stackSet) addrsOf(id StackID) []Addr { return s.view().addrsOf(id) }

func (s *stackSet) view() stackView { return stackView{s.ends, s.arena} }

// stackView is the content of a stackSet at one moment. As the set only ever
// appends, the view may be read while the set grows.
type stackView struct {
	ends  []int
	arena []Addr
}

func (v stackView) addrsOf(id StackID) []Addr {
	begin := 0
	if id > 0 {
		begin = v.ends[id-1]
	}
	return v.arena[begin:v.ends[id]:v.ends[id]]
}

func (s *stackSet) intern(salt uint64, addrs []Addr) (id StackID, added bool) {
	if 2*(len(s.ends)+1) > len(s.slots) {
		s.grow()
	}
	h := s.hash(salt, addrs)
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := s.slots[i]
		if slot == 0 {
			s.slots[i] = uint32(len(s.ends)) + 1
			return s.add(h, salt, addrs), true
		}
		id := StackID(slot - 1)
		if s.hashes[id] == h && s.salts[id] == salt && slices.Equal(s.addrsOf(id), addrs) {
			return id, false
		}
	}
}

func (s *stackSet) add(h, salt uint64, addrs []Addr) StackID {
	if cap(s.arena)-len(s.arena) < len(addrs) { // double: append's quarter copies too often
		s.arena = append(make([]Addr, 0, 2*cap(s.arena)+len(addrs)+1<<16), s.arena...)
	}
	s.arena = append(s.arena, addrs...)
	s.ends = append(s.ends, len(s.arena))
	s.hashes = append(s.hashes, h)
	s.salts = append(s.salts, salt)
	return StackID(len(s.ends) - 1)
}

func (s *stackSet) grow() {
	if s.slots == nil {
		s.seed = maphash.Bytes(maphash.MakeSeed(), nil) | 1
	}
	s.slots = make([]uint32, max(1024, 2*len(s.slots)))
	mask := uint64(len(s.slots) - 1)
	for id, h := range s.hashes {
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(id) + 1
	}
}

func (s *stackSet) hash(salt uint64, addrs []Addr) uint64 {
	h := s.seed ^ salt
	for _, a := range addrs {
		hi, lo := bits.Mul64(h^uint64(a), 0x9e3779b97f4a7c15^s.seed)
		h = hi ^ lo
	}
	hi, lo := bits.Mul64(h^uint64(len(addrs)), 0xd6e8feb86659fd93)
	return hi ^ lo
}

// idMap translates the stack numbers of one decoder to those of a table.
type idMap struct {
	epoch uint64
	ids   []uint32 // by local number: ID + 1, 0 is unknown
}

// apply renumbers a snapshot's samples. Each stack is looked up once per decoder and epoch.
func (m *idMap) apply(s *Snapshot, local stackView, t *StackTable, epoch uint64, space Space) {
	if m.epoch != epoch {
		m.epoch, m.ids = epoch, m.ids[:0]
	}
	if n := len(local.ends) - len(m.ids); n > 0 {
		m.ids = append(m.ids, make([]uint32, n)...)
	}
	for i := range s.Samples {
		id := s.Samples[i].Stack
		if m.ids[id] == 0 {
			m.ids[id] = uint32(t.intern(epoch, space, local.addrsOf(id))) + 1
		}
		s.Samples[i].Stack = StackID(m.ids[id] - 1)
	}
}

// textCache maps the text of a stack, as it stands in the file, to its ID.
// A snapshot repeats nearly all stacks of the one before it, byte for byte: a
// hash and a comparison are many times cheaper than decoding 32 addresses.
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

// find returns the ID that was put for this text, and the hash for put.
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

// put stores the ID of a text that find did not have.
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
