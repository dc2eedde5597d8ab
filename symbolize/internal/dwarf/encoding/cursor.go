package encoding

import (
	"bytes"
	"encoding/binary"
)

// Cursor reads little-endian values from a section. A read past the end returns 0 and sets Failed.
// All later reads return 0, too, so that callers check once, after a group of reads.
type Cursor struct {
	Data   []byte
	Off    uint64
	Failed bool
}

// At returns a cursor at an offset of a section.
func At(section []byte, off uint64) Cursor {
	c := Cursor{Data: section}
	c.Seek(off)
	return c
}

// need reports whether n more bytes can be read.
func (c *Cursor) need(n uint64) bool {
	if c.Failed || n > uint64(len(c.Data))-c.Off {
		c.Failed = true
		return false
	}
	return true
}

// U8 reads 1 byte.
func (c *Cursor) U8() uint8 {
	if !c.need(1) {
		return 0
	}
	v := c.Data[c.Off]
	c.Off++
	return v
}

// U16 reads 2 bytes.
func (c *Cursor) U16() uint16 {
	if !c.need(2) {
		return 0
	}
	v := binary.LittleEndian.Uint16(c.Data[c.Off:])
	c.Off += 2
	return v
}

// U24 reads 3 bytes.
func (c *Cursor) U24() uint32 {
	if !c.need(3) {
		return 0
	}
	b := c.Data[c.Off:]
	c.Off += 3
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
}

// U32 reads 4 bytes.
func (c *Cursor) U32() uint32 {
	if !c.need(4) {
		return 0
	}
	v := binary.LittleEndian.Uint32(c.Data[c.Off:])
	c.Off += 4
	return v
}

// U64 reads 8 bytes.
func (c *Cursor) U64() uint64 {
	if !c.need(8) {
		return 0
	}
	v := binary.LittleEndian.Uint64(c.Data[c.Off:])
	c.Off += 8
	return v
}

// Word reads an offset: 8 bytes in the 64-bit DWARF format, 4 bytes in the 32-bit format.
func (c *Cursor) Word(is64 bool) uint64 {
	if is64 {
		return c.U64()
	}
	return uint64(c.U32())
}

// Uint reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *Cursor) Uint(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.U8())
	case 2:
		return uint64(c.U16())
	case 4:
		return uint64(c.U32())
	case 8:
		return c.U64()
	}
	c.Failed = true
	return 0
}

// Uleb reads an unsigned LEB128 number (DWARF 5 section 7.6). It drops bits above the 64th.
func (c *Cursor) Uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.U8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

// Sleb reads a signed LEB128 number.
func (c *Cursor) Sleb() int64 {
	var v int64
	shift := uint(0)
	for {
		b := c.U8()
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

// Skip moves the cursor n bytes forward.
func (c *Cursor) Skip(n uint64) {
	if c.need(n) {
		c.Off += n
	}
}

// String reads a string that ends with a NUL byte.
func (c *Cursor) String() string {
	if c.Failed {
		return ""
	}
	n := bytes.IndexByte(c.Data[c.Off:], 0)
	if n < 0 {
		c.Failed = true
		return ""
	}
	s := string(c.Data[c.Off : c.Off+uint64(n)])
	c.Off += uint64(n) + 1
	return s
}

// SkipString moves the cursor past a string that ends with a NUL byte.
func (c *Cursor) SkipString() {
	if c.Failed {
		return
	}
	n := bytes.IndexByte(c.Data[c.Off:], 0)
	if n < 0 {
		c.Failed = true
		return
	}
	c.Off += uint64(n) + 1
}

// Seek moves the cursor to an offset of the section.
func (c *Cursor) Seek(off uint64) {
	if off > uint64(len(c.Data)) {
		c.Failed = true
		return
	}
	c.Off = off
}
