package graph

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	wordSize = 8
	pageSize = 4 << 10
	bufSize  = 1 << 20
)

// scanner reads the words of ranges, which must be given by ascending addresses.
type scanner struct {
	Memory
	buf        []byte
	have       blocks.Range
	parts      []blocks.Range // parts with content that lie behind what was read
	unreadable uint64
}

// start begins to read a range.
func (s *scanner) start(r blocks.Range) {
	if s.buf == nil {
		s.buf = make([]byte, bufSize)
	}
	s.have, s.parts = blocks.Range{}, []blocks.Range{r}
	if s.Resident != nil {
		s.parts = s.Resident(r)
	}
}

// words calls a function for each aligned word of a range whose value lies in another range.
func (s *scanner) words(r, values blocks.Range, f func(address, value uint64)) {
	at := (r.Start + wordSize - 1) &^ (wordSize - 1)
	for r.End >= wordSize && at <= r.End-wordSize {
		at = max(at, s.have.Start) // there is nothing between what was asked for last and what was read then
		if at >= s.have.End {
			at = s.fill(at)
		}
		if at > r.End-wordSize {
			return
		}
		end := min(s.have.End, r.End)
		for b := s.buf[at-s.have.Start : end-s.have.Start]; len(b) >= wordSize; b = b[wordSize:] {
			if v := binary.LittleEndian.Uint64(b); values.Contains(v) {
				f(at, v)
			}
			at += wordSize
		}
		at = max(at, end&^(wordSize-1)) // what is left is less than a word
		if at < end {
			return
		}
	}
}

// fill reads what is at an address or behind it, and returns the address where it begins, or the highest
// address if there is nothing.
func (s *scanner) fill(at uint64) uint64 {
	for len(s.parts) > 0 {
		part := s.parts[0]
		if part.End <= at || part.End-at < wordSize {
			s.parts = s.parts[1:]
			continue
		}
		start := max(at, (part.Start+wordSize-1)&^(wordSize-1))
		end := min(part.End, start&^(pageSize-1)+bufSize)
		if s.Read(start, s.buf[:end-start]) == nil {
			s.have = blocks.Range{Start: start, End: end}
			return start
		}
		// A page may be unreadable: try it alone, and skip it.
		end = min(part.End, start&^(pageSize-1)+pageSize)
		if s.Read(start, s.buf[:end-start]) == nil {
			s.have = blocks.Range{Start: start, End: end}
			return start
		}
		s.unreadable += end - start
		at = end
	}
	s.have = blocks.Range{}
	return ^uint64(0)
}
