//go:build linux

package python

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	page     = 4 << 10
	maxPages = 4 << 10
	topmost  = 1 << 47 // behind the highest address
)

// reader reads memory at any addresses. It keeps the pages that it has read, up to 16 MiB.
type reader struct {
	memory blocks.Memory
	pages  map[uint64]*[page]byte
}

// page returns the page at an address, or nil if it cannot be read.
func (r *reader) page(address uint64) *[page]byte {
	p, ok := r.pages[address]
	if ok {
		return p
	}
	if address < topmost {
		p = new([page]byte)
		if r.memory.Read(address, p[:]) != nil {
			p = nil
		}
	}
	if r.pages == nil || len(r.pages) >= maxPages {
		r.pages = map[uint64]*[page]byte{}
	}
	r.pages[address] = p
	return p
}

// bytes reads up to n bytes at an address: fewer if what follows cannot be read.
func (r *reader) bytes(address uint64, n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		p := r.page(address &^ (page - 1))
		if p == nil {
			break
		}
		part := p[address&(page-1):]
		part = part[:min(len(part), n-len(b))]
		b, address = append(b, part...), address+uint64(len(part))
	}
	return b
}

// word reads a word, which is 0 if it cannot be read.
func (r *reader) word(address uint64) uint64 {
	if at := address & (page - 1); at <= page-8 {
		if p := r.page(address - at); p != nil {
			return binary.LittleEndian.Uint64(p[at:])
		}
		return 0
	}
	if b := r.bytes(address, 8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// number reads a number of 32 bits.
func (r *reader) number(address uint64) uint32 {
	if b := r.bytes(address, 4); len(b) == 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// byte reads a byte.
func (r *reader) byte(address uint64) byte {
	if b := r.bytes(address, 1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// cstring reads a text that ends with a zero byte, of at most some bytes.
func (r *reader) cstring(address uint64, most int) string {
	b := r.bytes(address, most)
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}
