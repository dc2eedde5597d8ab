//go:build linux

package unwind

import "encoding/binary"

// memory is the memory of a process.
type memory interface {
	Read(address uint64, b []byte) error
}

func load(m memory, address uint64) (uint64, bool) {
	var b [8]byte
	err := m.Read(address, b[:])
	return binary.LittleEndian.Uint64(b[:]), err == nil
}

// reader reads numbers one after another. After an error all are 0, and failed is set.
type reader struct {
	memory memory
	at     uint64
	failed bool
}

func (r *reader) bytes(n int) (b [8]byte) {
	if !r.failed && r.memory.Read(r.at, b[:n]) != nil {
		r.failed, b = true, [8]byte{}
	}
	r.at += uint64(n)
	return b
}

func (r *reader) byte() byte { return r.bytes(1)[0] }

// unsigned reads a number of n bytes.
func (r *reader) unsigned(n int) uint64 {
	b := r.bytes(n)
	return binary.LittleEndian.Uint64(b[:])
}

// signed reads a number of n bytes.
func (r *reader) signed(n int) int64 {
	shift := 64 - 8*n
	return int64(r.unsigned(n)) << shift >> shift
}

// uleb reads a number in LEB128.
func (r *reader) uleb() (v uint64) {
	for shift := 0; shift < 70 && !r.failed; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v
		}
	}
	r.failed = true
	return 0
}

// sleb reads a signed number in LEB128.
func (r *reader) sleb() (v int64) {
	for shift := 0; shift < 70 && !r.failed; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if shift < 57 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.failed = true
	return 0
}

// Encodings of addresses (DW_EH_PE).
const (
	encodingFormat   = 0x0f
	encodingRelative = 0x70
	encodingPC       = 0x10
	encodingOmitted  = 0xff
)

// encoded reads an address.
func (r *reader) encoded(encoding byte) (v uint64) {
	at := r.at
	switch encoding & encodingFormat {
	case 0x00, 0x04, 0x0c:
		v = r.unsigned(8)
	case 0x01:
		v = r.uleb()
	case 0x02:
		v = r.unsigned(2)
	case 0x03:
		v = r.unsigned(4)
	case 0x09:
		v = uint64(r.sleb())
	case 0x0a:
		v = uint64(r.signed(2))
	case 0x0b:
		v = uint64(r.signed(4))
	default:
		r.failed = true
	}
	switch encoding & encodingRelative {
	case 0:
	case encodingPC:
		v += at
	default:
		r.failed = true
	}
	return v
}

// text reads a text that ends with a zero byte.
func (r *reader) text() string {
	var b []byte
	for len(b) < 16 && !r.failed {
		c := r.byte()
		if c == 0 {
			return string(b)
		}
		b = append(b, c)
	}
	r.failed = true
	return ""
}
