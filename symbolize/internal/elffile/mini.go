package elffile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

// miniSection contains an xz-compressed ELF file, whose .symtab has the functions that .dynsym does
// not have. gdb calls it MiniDebugInfo (gdb manual, "MiniDebugInfo"). Fedora's stripped libraries
// have it.
const miniSection = ".gnu_debugdata"

// miniDebugInfo opens the file in .gnu_debugdata. It returns nil if there is none. The file is in
// memory and does not have to be closed.
func (f *File) miniDebugInfo() (*File, error) {
	raw, err := f.Section(miniSection)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	data, err := unxz(raw)
	if err != nil {
		return nil, f.fault(miniSection, "cannot be decompressed: %v", err)
	}
	mini := &File{Path: f.Path + ": section " + miniSection, data: data}
	if err := mini.parse(); err != nil {
		return nil, err
	}
	return mini, nil
}

// maxDictionary is the maximum window of a stream, in bytes: that of xz -9. The format allows 4
// GiB, which decoders allocate at once.
const maxDictionary = 64 << 20

// unxz decompresses an xz stream. It computes the size before it allocates memory.
func unxz(raw []byte) ([]byte, error) {
	s := xzStream{b: raw}
	if err := s.scan(); err != nil {
		return nil, err
	}
	if limit := maxExpanded(len(raw)); s.size > limit {
		return nil, fmt.Errorf("%d bytes expand to %d, more than %d", len(raw), s.size, limit)
	}
	r, err := xz.ReaderConfig{SingleStream: true}.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	out := make([]byte, s.size)
	_, err = io.ReadFull(r, out)
	return out, err
}

// xzStream computes the size of an xz stream without decompressing it. Sources: The .xz File Format
// 1.2.1, sections 2 and 3; for LZMA2 chunks lzma2_decoder.c of xz.
type xzStream struct {
	b    []byte
	off  int
	size uint64 // decompressed size of the chunks so far
}

func (s *xzStream) fault(msg string) error { return fmt.Errorf("at 0x%x: %s", s.off, msg) }

// checkSizes has the size of a block's checksum by its kind, which is in the stream header.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// scan reads all blocks, up to the index.
func (s *xzStream) scan() error {
	const headerSize = 12
	if len(s.b) < headerSize || string(s.b[:6]) != "\xfd7zXZ\x00" {
		return s.fault("not an xz stream")
	}
	check := checkSizes[s.b[7]&15]
	for s.off = headerSize; ; {
		if s.off >= len(s.b) {
			return s.fault("the stream is truncated")
		}
		if s.b[s.off] == 0 { // the index
			return nil
		}
		if err := s.blockHeader(); err != nil {
			return err
		}
		if err := s.chunks(); err != nil {
			return err
		}
		s.off = (s.off+3)&^3 + check
	}
}

// blockHeader reads a block header: its size in words, flags, optional sizes, and filters.
func (s *xzStream) blockHeader() error {
	end := s.off + (int(s.b[s.off])+1)*4
	if end > len(s.b) {
		return s.fault("a block header is truncated")
	}
	flags := s.b[s.off+1]
	fields := s.b[s.off+2 : end]
	for _, present := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&present != 0 {
			_, n := binary.Uvarint(fields)
			if n <= 0 {
				return s.fault("a malformed block header")
			}
			fields = fields[n:]
		}
	}
	const lzma2 = 0x21
	if flags&3 != 0 || len(fields) < 3 || fields[0] != lzma2 || fields[1] != 1 {
		return s.fault("a filter other than LZMA2 is not supported")
	}
	// 0 is 4 KiB, 1 is 6 KiB, 2 is 8 KiB, 3 is 12 KiB, …
	bits := fields[2]
	if bits > 40 || uint64(2|bits&1)<<(bits/2+11) > maxDictionary {
		return s.fault("the dictionary is larger than 64 MiB")
	}
	s.off = end
	return nil
}

// chunks adds the sizes of the LZMA2 chunks of a block.
func (s *xzStream) chunks() error {
	for s.off < len(s.b) {
		chunk := s.b[s.off:]
		control := chunk[0]
		if control == 0 {
			s.off++
			return nil
		}
		if len(chunk) < 6 || (control > 2 && control < 0x80) {
			break
		}
		size := uint64(binary.BigEndian.Uint16(chunk[1:])) + 1
		if control < 0x80 { // not compressed
			s.off += 3 + int(size)
		} else {
			size += uint64(control&0x1f) << 16
			s.off += 5 + int(binary.BigEndian.Uint16(chunk[3:])) + 1
			if control >= 0xc0 { // with new properties
				s.off++
			}
		}
		s.size += size
	}
	return s.fault("a chunk is malformed or truncated")
}
