package graph

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

// Parts collects the doubtful parts of a block, for [Content].
type Parts struct {
	Block blocks.Range
	List  []Part
}

// Add adds the words of a range, up to the end of the block.
func (p *Parts) Add(from, to uint64) { p.AddEvery(from, to, 0) }

// AddEvery adds a word of each element of an array. every is the size of an element.
func (p *Parts) AddEvery(from, to, every uint64) {
	if to = min(to, p.Block.End); from < to && from >= p.Block.Start {
		p.List = append(p.List, Part{Range: blocks.Range{Start: from, End: to}, Every: every})
	}
}
