package blocks

import (
	"encoding/binary"
	"sort"
)

// Memory is the memory of a process, or an image of it.
type Memory interface {
	// Read fills b with the bytes at an address, or returns an error.
	Read(address uint64, b []byte) error
}

// Range is a range of addresses.
type Range struct{ Start, End uint64 }

// Contains reports whether the range contains an address.
func (r Range) Contains(address uint64) bool { return address >= r.Start && address < r.End }

// Size returns the number of bytes.
func (r Range) Size() uint64 { return r.End - r.Start }

// Join adds a range behind others. It may begin where the last one ends.
func Join(list []Range, r Range) []Range {
	if n := len(list); n > 0 && list[n-1].End == r.Start {
		list[n-1].End = r.End
		return list
	}
	return append(list, r)
}

// Containing returns the range of a list, which is sorted by address, that contains all of another one. There is none
// if that is empty.
func Containing(list []Range, r Range) (Range, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].End > r.Start })
	if i == len(list) || list[i].Start > r.Start || r.End > list[i].End || r.Start >= r.End {
		return Range{}, false
	}
	return list[i], true
}

// Window reads words that are near each other, or follow each other, with few calls of Read.
type Window struct {
	Memory Memory
	// Within is what may be read.
	Within Range

	have Range
	b    []byte
}

const (
	windowSize = 64 << 10
	pageSize   = 4 << 10
)

// Word returns the word at an address.
func (w *Window) Word(address uint64) (uint64, bool) {
	if address < w.have.Start || address >= w.have.End || w.have.End-address < 8 {
		if !w.move(address) {
			return 0, false
		}
	}
	return binary.LittleEndian.Uint64(w.b[address-w.have.Start:]), true
}

// move reads the page that contains an address and what follows.
func (w *Window) move(address uint64) bool {
	if !w.Within.Contains(address) || w.Within.End-address < 8 {
		return false
	}
	if w.b == nil {
		w.b = make([]byte, windowSize)
	}
	start := max(address&^(pageSize-1), w.Within.Start)
	w.have = Range{}
	// What follows may be unreadable; a word may lie on two pages.
	for _, size := range []uint64{windowSize, 2 * pageSize, pageSize} {
		end := start + min(size, w.Within.End-start)
		if end-address < 8 {
			break
		}
		if w.Memory.Read(start, w.b[:end-start]) == nil {
			w.have = Range{start, end}
			return true
		}
	}
	return false
}
