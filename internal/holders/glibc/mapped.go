package glibc

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

const (
	pageSize = 4096
	// minMapped is the size from which malloc maps blocks. Smaller ones with a mapping of their own are not found:
	// programs can lower the size (M_MMAP_THRESHOLD), and realloc makes mappings smaller. Programs that raise it have
	// fewer.
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
			if b, ok := mappedAt(words, at); ok && b.End <= gap.End && w.addMapped(b) {
				at = b.End
			} else {
				at += pageSize
			}
		}
	}
}

// mappedAt returns the block that begins in a page, if it has a mapping of its own. Its chunk begins with the
// page up to 2.42. From 2.43 on it begins where the block has the alignment that the program wants, the
// first word is its distance from the start of the mapping (plus 1 if that has huge pages), and the size does not
// include 16 bytes at the end.
func mappedAt(words *blocks.Window, page uint64) (blocks.Range, bool) {
	for align := uint64(headerSize); align <= pageSize; align *= 2 {
		chunk := page + align - headerSize
		distance, ok := words.Word(chunk)
		size, ok2 := words.Word(chunk + 8)
		if !ok || !ok2 {
			return blocks.Range{}, false
		}
		if distance &^= 1; distance%pageSize != chunk-page || size&flags != mapped || size < minMapped {
			continue
		}
		end := chunk + size&^flags
		if end%pageSize == pageSize-headerSize {
			end += headerSize
		} else if distance != 0 {
			continue
		}
		if end%pageSize == 0 && end > chunk {
			return blocks.Range{Start: chunk + headerSize, End: end}, true
		}
	}
	return blocks.Range{}, false
}

// addMapped adds a block with a mapping of its own. It reports whether that does not fail.
func (w *walk) addMapped(b blocks.Range) bool {
	r, err := blocks.NewRegion(b)
	if err == nil && r.Add(r.Start, false) {
		err = w.Blocks.Add(r)
	}
	if err != nil {
		w.problem("the large block at %#x: %w", b.Start, err)
		return false
	}
	w.Mapped++
	return true
}
