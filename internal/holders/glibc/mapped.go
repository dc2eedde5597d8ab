package glibc

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

const (
	pageSize = 4096
	// minMapped is the size from which malloc maps blocks. Programs can lower it (M_MMAP_THRESHOLD):
	// smaller blocks are not found. Programs that raise it have fewer.
	minMapped = 128 << 10
)

// findMapped adds the blocks that have a mapping of their own. The kernel joins adjacent mappings, so
// they begin at any page.
func (w *walk) findMapped() {
	for _, r := range w.Anonymous {
		for _, gap := range w.Blocks.Gaps(r) {
			w.findMappedIn(gap)
		}
	}
}

func (w *walk) findMappedIn(gap blocks.Range) {
	parts := []blocks.Range{gap}
	if w.Resident != nil {
		parts = w.Resident(gap)
	}
	words := w.window(gap)
	at := gap.Start
	for _, part := range parts {
		for at = max(at, (part.Start+pageSize-1)&^(pageSize-1)); at < part.End; {
			size := mappedSize(words, at)
			if size == 0 || size > gap.End-at || !w.addMapped(at, size) {
				size = pageSize
			}
			at += size
		}
	}
}

// mappedSize returns the size of the chunk at the start of a page, or 0 if there is none.
func mappedSize(words *blocks.Window, at uint64) uint64 {
	first, ok := words.Word(at)
	size, ok2 := words.Word(at + 8)
	if !ok || !ok2 || first != 0 || size&flags != mapped {
		return 0
	}
	if size &^= flags; size < minMapped || size%pageSize != 0 {
		return 0
	}
	return size
}

// addMapped adds a block with a mapping of its own. It reports whether that does not fail.
func (w *walk) addMapped(at, size uint64) bool {
	r, err := blocks.NewRegion(blocks.Range{Start: at + headerSize, End: at + size})
	if err == nil && r.Add(r.Start, false) {
		err = w.Blocks.Add(r)
	}
	if err != nil {
		w.problem("the large block at %#x: %w", at, err)
		return false
	}
	w.Mapped++
	return true
}
