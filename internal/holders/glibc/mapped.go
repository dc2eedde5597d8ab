package glibc

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

const pageSize = 4096

// findMapped adds the blocks that have a mapping of their own. The kernel joins adjacent mappings, so
// they begin at any page. They may be as small as a page: realloc makes mappings smaller (CPython does that with what
// it has read), and a program may lower the size from which malloc maps blocks (M_MMAP_THRESHOLD).
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

// mappedAt returns the block with a mapping of its own whose chunk begins in a page, or in a later one if the mapping
// begins with the page. If a program wants an alignment, memalign moves the chunk up and leaves the old sizes at the
// start, which realloc does not change: the chunk that lies farthest up is the one that counts.
func mappedAt(words *blocks.Window, page uint64) (blocks.Range, bool) {
	for align := uint64(pageSize); align >= headerSize; align /= 2 {
		chunk := page + align - headerSize
		b, distance, ok := chunkAt(words, chunk)
		if !ok || distance%pageSize != chunk-page {
			continue
		}
		if chunk == page && distance == 0 {
			return movedFrom(words, b), true
		}
		return b, true
	}
	return blocks.Range{}, false
}

// movedFrom returns the block to which memalign has moved the one at the start of a mapping, for an alignment that is
// larger than a page, or the block itself.
func movedFrom(words *blocks.Window, b blocks.Range) blocks.Range {
	const most = 2 << 20
	page := b.Start - headerSize
	for align := uint64(most); align > pageSize; align /= 2 {
		chunk := (page+align)&^(align-1) - headerSize
		if moved, distance, ok := chunkAt(words, chunk); ok && distance == chunk-page && chunk < b.End {
			return moved
		}
	}
	return b
}

// chunkAt returns the block of a chunk that may have a mapping of its own, and how far the chunk is from the start of
// that: its first word, up to 2.42. From 2.43 on, that word is larger by 1 if the mapping has huge pages, and the size
// does not include 16 bytes at the end.
func chunkAt(words *blocks.Window, chunk uint64) (b blocks.Range, distance uint64, ok bool) {
	distance, ok = words.Word(chunk)
	size, ok2 := words.Word(chunk + 8)
	if !ok || !ok2 || size&flags != mapped {
		return blocks.Range{}, 0, false
	}
	distance &^= 1
	end := chunk + size&^flags
	if end%pageSize == pageSize-headerSize {
		end += headerSize
	}
	return blocks.Range{Start: chunk + headerSize, End: end}, distance, end%pageSize == 0 && end > chunk+headerSize
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
