package jemalloc

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

const (
	// hugePage is the alignment of the blocks in which the allocator has its own data, and of their sizes.
	hugePage = 2 << 20
	// maxSteps limits how far before an address the start of its block is searched: 2 GiB.
	maxSteps = 1 << 10
	maxChain = 1 << 16
	// maxUnowned limits the searches that find nothing.
	maxUnowned = 64
)

// addOwn adds the block that contains an address of a structure of the allocator, and those that follow it in the list.
func (w *walk) addOwn(address uint64) {
	page := address &^ (hugePage - 1)
	if w.own[page] || w.unowned > maxUnowned {
		return
	}
	w.own[page] = true
	for i := range uint64(maxSteps) {
		start := page - min(page, i*hugePage)
		b, next, ok := w.ownAt(start)
		if ok && b.Contains(address) {
			w.addChain(b, next)
			return
		}
	}
	w.unowned++
}

// addChain adds a block, and those that follow it.
func (w *walk) addChain(b blocks.Range, next uint64) {
	for range maxChain {
		w.Own = append(w.Own, b)
		for page := b.Start; page < b.End; page += hugePage {
			w.own[page] = true
		}
		var ok bool
		if next == 0 || w.own[next] {
			return
		}
		if b, next, ok = w.ownAt(next); !ok {
			return
		}
	}
}

// ownAt returns the block that begins at an address, if there is one. It has the size, the address of the next one, and
// an extent whose memory is the rest of the block.
func (w *walk) ownAt(start uint64) (b blocks.Range, next uint64, ok bool) {
	const header = 16
	size, next := w.reader.Word(start), w.reader.Word(start+8)
	if start == 0 || size == 0 || size%hugePage != 0 || size > maxBytes || next%hugePage != 0 {
		return b, 0, false
	}
	b = blocks.Range{Start: start, End: start + size}
	rest := w.reader.Word(start + header + addressAt)
	return b, next, w.isAnonymous(b) && rest > start && rest <= b.End
}
