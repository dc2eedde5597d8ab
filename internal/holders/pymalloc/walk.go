package pymalloc

import (
	"encoding/binary"
	"fmt"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Process is what is known of the process.
type Process struct {
	Memory blocks.Memory
	// Anonymous lists the writable private mappings without a file.
	Anonymous []blocks.Range
	// Resident returns the parts of a range that have content, by address. If it is nil, all has.
	Resident func(blocks.Range) []blocks.Range
}

// Result tells what was found.
type Result struct {
	// Pools is the number of pools, and Changing the number of those that a thread was changing.
	Pools, Changing int
	// Regions has the blocks of adjacent pools, and Empty the pools that have no block in use.
	Regions []*blocks.Region
	Empty   []blocks.Range
}

// pageSize is the size of the smallest pool, and largest that of the largest one.
const pageSize, largest = 4 << 10, 16 << 10

// Walk adds the blocks of all pools to a set, which has the blocks of the other allocators.
func Walk(p Process, set *blocks.Set) (Result, error) {
	w := walk{Process: p, set: set, content: make([]byte, largest)}
	for _, r := range p.Anonymous {
		for _, gap := range set.Gaps(r) {
			if err := w.search(gap); err != nil {
				return w.Result, err
			}
		}
	}
	return w.Result, nil
}

type walk struct {
	Process
	Result
	set     *blocks.Set
	content []byte
	run     []pool // adjacent pools that are not in the set yet
}

// search finds the pools in a range.
func (w *walk) search(gap blocks.Range) error {
	parts := []blocks.Range{gap}
	if w.Resident != nil {
		parts = w.Resident(gap)
	}
	words := &blocks.Window{Memory: w.Memory, Within: gap}
	at := gap.Start
	for _, part := range parts {
		for at = max(at, (part.Start+pageSize-1)&^(pageSize-1)); at < part.End; {
			found, ok := w.poolAt(words, at, gap.End)
			if !ok {
				at += pageSize
				continue
			}
			if err := w.add(found); err != nil {
				return err
			}
			at = found.End
		}
	}
	return w.flush()
}

// add puts a pool behind those of the run, or begins a new one.
func (w *walk) add(p pool) error {
	if n := len(w.run); n > 0 && (w.run[n-1].End != p.Start || p.End-w.run[0].Start > blocks.MaxRegion) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.run = append(w.run, p)
	return nil
}

// flush adds the run of pools to the set as a region.
func (w *walk) flush() error {
	if len(w.run) == 0 {
		return nil
	}
	region, err := blocks.NewRegion(blocks.Range{Start: w.run[0].Start, End: w.run[len(w.run)-1].End})
	if err != nil {
		return err
	}
	for _, p := range w.run {
		if err := w.addBlocks(region, p); err != nil {
			return err
		}
	}
	w.run = w.run[:0]
	w.Regions = append(w.Regions, region)
	return w.set.Add(region)
}

// addBlocks adds the blocks of a pool to a region. The header and what is left at the end are free blocks.
func (w *walk) addBlocks(region *blocks.Region, p pool) error {
	w.Pools++
	if p.used == 0 {
		w.Empty = append(w.Empty, p.Range)
	}
	content := w.content[:p.Range.Size()]
	if err := w.Memory.Read(p.Start, content); err != nil {
		return fmt.Errorf("pool at %#x: %w", p.Start, err)
	}
	region.Add(p.Start, true)
	at := p.Start + headerSize
	for ; p.End-at >= p.size; at += p.size {
		region.Add(at, p.used == 0 || at >= p.fresh)
	}
	if at < p.End {
		region.Add(at, true)
	}
	free := 0
	for block := p.free; p.isUsed(block) && region.SetFree(block); free++ {
		block = binary.LittleEndian.Uint64(content[block-p.Start:])
	}
	if p.used != 0 && free != p.listed() {
		w.Changing++
	}
	return nil
}
