package dwarf

import (
	"bytes"
	"encoding/binary"
)

// cursor reads little-endian values from a section. Reading past the end gives
// zeros and marks the cursor as failed; callers check once, after a group of reads.
type cursor struct {
	b      []byte
	off    uint64
	failed bool
}

func (c *cursor) need(n uint64) bool {
	if c.failed || n > uint64(len(c.b))-c.off {
		c.failed = true
		return false
	}
	return true
}

func (c *cursor) u8() uint8 {
	if !c.need(1) {
		return 0
	}
	v := c.b[c.off]
	c.off++
	return v
}

func (c *cursor) u16() uint16 {
	if !c.need(2) {
		return 0
	}
	v := binary.LittleEndian.Uint16(c.b[c.off:])
	c.off += 2
	return v
}

func (c *cursor) u24() uint32 {
	if !c.need(3) {
		return 0
	}
	b := c.b[c.off:]
	c.off += 3
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
}

func (c *cursor) u32() uint32 {
	if !c.need(4) {
		return 0
	}
	v := binary.LittleEndian.Uint32(c.b[c.off:])
	c.off += 4
	return v
}

func (c *cursor) u64() uint64 {
	if !c.need(8) {
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b[c.off:])
	c.off += 8
	return v
}

// word reads an offset: 8 bytes in the 64-bit format, else 4.
func (c *cursor) word(is64 bool) uint64 {
	if is64 {
		return c.u64()
	}
	return uint64(c.u32())
}

// uint reads an unsigned number of a size of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.failed = true
	return 0
}

func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	shift := uint(0)
	for {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (c *cursor) skip(n uint64) {
	if c.need(n) {
		c.off += n
	}
}

// cstring reads up to a NUL byte.
func (c *cursor) cstring() string {
	if c.failed {
		return ""
	}
	n := bytes.IndexByte(c.b[c.off:], 0)
	if n < 0 {
		c.failed = true
		return ""
	}
	s := string(c.b[c.off : c.off+uint64(n)])
	c.off += uint64(n) + 1
	return s
}

func (c *cursor) skipString() {
	if c.failed {
		return
	}
	n := bytes.IndexByte(c.b[c.off:], 0)
	if n < 0 {
		c.failed = true
		return
	}
	c.off += uint64(n) + 1
}

// seek moves to an offset of the section.
func (c *cursor) seek(off uint64) {
	if off > uint64(len(c.b)) {
		c.failed = true
		return
	}
	c.off = off
}

// at is a cursor on a section at an offset.
func at(section []byte, off uint64) cursor {
	c := cursor{b: section}
	c.seek(off)
	return c
}
