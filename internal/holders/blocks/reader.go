package blocks

import "encoding/binary"

// Topmost is behind the highest address.
const Topmost = 1 << 47

const maxPages = 4 << 10

// Reader reads memory at any addresses. It keeps the pages that it has read, up to 16 MiB.
type Reader struct {
	Memory Memory

	pages map[uint64]*[pageSize]byte
}

// page returns the page at an address, or nil if it cannot be read.
func (r *Reader) page(address uint64) *[pageSize]byte {
	p, ok := r.pages[address]
	if ok {
		return p
	}
	if address < Topmost {
		p = new([pageSize]byte)
		if r.Memory.Read(address, p[:]) != nil {
			p = nil
		}
	}
	if r.pages == nil || len(r.pages) >= maxPages {
		r.pages = map[uint64]*[pageSize]byte{}
	}
	r.pages[address] = p
	return p
}

// CanRead reports whether the page of an address can be read.
func (r *Reader) CanRead(address uint64) bool { return r.page(address&^(pageSize-1)) != nil }

// Bytes reads up to n bytes at an address: fewer if what follows cannot be read.
func (r *Reader) Bytes(address uint64, n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		p := r.page(address &^ (pageSize - 1))
		if p == nil {
			break
		}
		part := p[address&(pageSize-1):]
		part = part[:min(len(part), n-len(b))]
		b, address = append(b, part...), address+uint64(len(part))
	}
	return b
}

// Word reads a word, which is 0 if it cannot be read.
func (r *Reader) Word(address uint64) uint64 {
	if at := address & (pageSize - 1); at <= pageSize-8 {
		if p := r.page(address - at); p != nil {
			return binary.LittleEndian.Uint64(p[at:])
		}
		return 0
	}
	if b := r.Bytes(address, 8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Number reads a number of 32 bits.
func (r *Reader) Number(address uint64) uint32 {
	if b := r.Bytes(address, 4); len(b) == 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Byte reads a byte.
func (r *Reader) Byte(address uint64) byte {
	if b := r.Bytes(address, 1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Text reads a text that ends with a zero byte, of at most some bytes.
func (r *Reader) Text(address uint64, most int) string {
	b := r.Bytes(address, most)
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}
