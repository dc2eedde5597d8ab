package pymalloc

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	headerSize = 48
	alignment  = 16
	classes    = 32
)

// pool is the header of a pool.
type pool struct {
	blocks.Range
	size  uint64 // of a block
	used  int    // number of blocks in use
	free  uint64 // address of the first free block, or 0
	fresh uint64 // address of the first block that was never used
}

// poolAt returns the pool that starts at an address, if there is one that ends before limit.
func (w *walk) poolAt(words *blocks.Window, at, limit uint64) (pool, bool) {
	var header [headerSize]byte
	for i := uint64(0); i < headerSize; i += 8 {
		word, ok := words.Word(at + i)
		if !ok {
			return pool{}, false
		}
		binary.LittleEndian.PutUint64(header[i:], word)
	}
	p, ok := parse(header, at)
	if !ok || p.End > limit || p.End < at {
		return pool{}, false
	}
	return p, w.listFits(p)
}

// parse reads the header of a pool at an address.
func parse(header [headerSize]byte, at uint64) (pool, bool) {
	word := func(offset int) uint64 { return uint64(binary.LittleEndian.Uint32(header[offset:])) }
	used, class, fresh, most := word(0), word(36), word(40), word(44)
	if class >= classes {
		return pool{}, false
	}
	size := (class + 1) * alignment
	whole := most + size
	if (whole != pageSize && whole != largest) || at%whole != 0 {
		return pool{}, false
	}
	p := pool{
		blocks.Range{Start: at, End: at + whole}, size, int(used), binary.LittleEndian.Uint64(header[8:]), at + fresh,
	}
	// When all blocks were used once, the offset is beyond the last one.
	if fresh < headerSize || fresh > most+size || (fresh-headerSize)%size != 0 {
		return pool{}, false
	}
	return p, used <= (fresh-headerSize)/size && (p.free == 0 || p.isUsed(p.free))
}

// isUsed reports whether an address is that of a block that was used at least once.
func (p pool) isUsed(address uint64) bool {
	first := p.Start + headerSize
	return address >= first && address < p.fresh && (address-first)%p.size == 0
}

// listed returns the number of blocks that must be in the list of free blocks.
func (p pool) listed() int { return int((p.fresh-p.Start-headerSize)/p.size) - p.used }

// listFits reports whether the list of free blocks has the right length. If a thread takes or returns a block
// meanwhile, it may differ by one.
func (w *walk) listFits(p pool) bool {
	content := w.content[:p.Range.Size()]
	if w.Memory.Read(p.Start, content) != nil {
		return false
	}
	n := 0
	block := p.free
	for ; block != 0 && n <= p.listed()+1; n++ {
		if !p.isUsed(block) {
			return false
		}
		block = binary.LittleEndian.Uint64(content[block-p.Start:])
	}
	return block == 0 && n >= p.listed()-1 && n <= p.listed()+1
}
