package elffile

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Has reports whether the file has a section with content.
func (f *File) Has(name string) bool {
	s := f.section(name)
	return s != nil && s.Type != elf.SHT_NOBITS && s.FileSize > 0
}

// section returns the header of the first section with a name, or nil.
func (f *File) section(name string) *elf.SectionHeader {
	for i := range f.sections {
		if f.sections[i].Name == name {
			return &f.sections[i]
		}
	}
	return nil
}

// Section returns the decompressed content of a section, or nil if there is none. It also finds
// debug sections with the old name .zdebug_*.
func (f *File) Section(name string) ([]byte, error) {
	if s := f.section(name); s != nil && s.Type != elf.SHT_NOBITS {
		raw := f.bytesAt(s.Offset, s.FileSize)
		if raw == nil {
			return nil, f.fault(name, "is outside the file: is the file truncated?")
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 {
			return f.decompress(name, raw)
		}
		return raw, nil
	}
	if debug, ok := strings.CutPrefix(name, ".debug_"); ok {
		if s := f.section(".zdebug_" + debug); s != nil {
			return f.decompressOld(s.Name, f.bytesAt(s.Offset, s.FileSize))
		}
	}
	return nil, nil
}

// fault returns an error in a section.
func (f *File) fault(section, format string, args ...any) error {
	return fmt.Errorf("%s: section %s: %s", f.Path, section, fmt.Sprintf(format, args...))
}

// Limits of decompression. Debug information compresses about 3:1, and at most 8:1 in libc6-dbg.
// zlib can reach 1032:1.
const (
	maxRatio   = 64
	floorRatio = 64 << 20 // every section may expand to this size, regardless of the ratio
	maxSection = 1 << 34
)

// maxExpanded returns the maximum decompressed size of a section.
func maxExpanded(compressed int) uint64 {
	return min(max(floorRatio, maxRatio*uint64(compressed)), maxSection)
}

// decompress decompresses an SHF_COMPRESSED section: an Elf64_Chdr and a stream.
func (f *File) decompress(name string, raw []byte) ([]byte, error) {
	if len(raw) < 24 {
		return nil, f.fault(name, "has %d bytes, fewer than a compression header", len(raw))
	}
	kind := elf.CompressionType(binary.LittleEndian.Uint32(raw))
	size := binary.LittleEndian.Uint64(raw[8:])
	switch kind {
	case elf.COMPRESS_ZLIB:
		return f.inflate(name, raw[24:], size)
	case elf.COMPRESS_ZSTD:
		z, err := zstd.NewReader(bytes.NewReader(raw[24:]), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, f.fault(name, "%v", err)
		}
		defer z.Close()
		return f.readAll(name, z, size, len(raw))
	}
	return nil, f.fault(name, "compression type %d is not supported", kind)
}

// decompressOld decompresses a .zdebug_ section: "ZLIB", the size and a stream.
func (f *File) decompressOld(name string, raw []byte) ([]byte, error) {
	if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
		return nil, f.fault(name, "does not start with ZLIB")
	}
	return f.inflate(name, raw[12:], binary.BigEndian.Uint64(raw[4:]))
}

func (f *File) inflate(name string, stream []byte, size uint64) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, f.fault(name, "%v", err)
	}
	defer z.Close()
	return f.readAll(name, z, size, len(stream))
}

// readAll reads the size bytes that a stream should decompress to.
func (f *File) readAll(name string, r io.Reader, size uint64, compressed int) ([]byte, error) {
	if limit := maxExpanded(compressed); size > limit {
		return nil, f.fault(name, "%d bytes claim to decompress to %d, more than %d", compressed, size, limit)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, f.fault(name, "cannot be decompressed: %v", err)
	}
	return out, nil
}
