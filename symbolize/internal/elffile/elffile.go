// Package elffile opens ELF files as hostile input: a crafted or damaged file gives an error, never a panic, and takes no
// more memory than the requested sections.
//
// Files are mapped, not read: of a large binary, only the pages that are used are loaded.
package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// File is an open ELF file.
type File struct {
	// Path is what the file is called in results and errors; its bytes are at Local.
	Path, Local string

	Type    elf.Type
	Machine elf.Machine
	Progs   []elf.ProgHeader
	// BuildID is the GNU build ID in hex, "" if there is none.
	BuildID string
	// Info is the file's state when it was opened.
	Info fs.FileInfo

	data     []byte
	unmap    func() error
	sections []elf.SectionHeader
	headers  *Touched // the parts that Open read
	touched  *Touched // all parts that were read; nil until Record is called
}

// Open maps a file and reads its headers. Only 64-bit little-endian files
// (x86-64, arm64, riscv64, …) are supported.
func Open(path string) (*File, error) { return OpenAs(path, path) }

// OpenAs opens the file at local, whose Path is path.
func OpenAs(path, local string) (*File, error) {
	f, info, err := OpenRegular(local)
	if err != nil {
		if errors.Is(err, errIrregular) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, err
	}
	defer f.Close()
	data, unmap, err := mapFile(f, info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	e := &File{Path: path, Local: local, Info: info, data: data, unmap: unmap}
	headers := e.Record()
	if err := e.Guard(e.parse); err != nil {
		e.Close()
		return nil, err
	}
	e.headers, e.touched = headers, nil
	return e, nil
}

// Record starts to record the parts of the file that are read. The result includes the headers, which Open has read.
func (f *File) Record() *Touched {
	f.touched = cmp.Or(f.headers, &Touched{})
	return f.touched
}

// errIrregular is the error for a directory, a device or a pipe.
var errIrregular = errors.New("not a regular file")

// OpenRegular opens a regular file. It refuses pipes, which would block, and devices, which may have side effects.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errIrregular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Close unmaps the file. Sections must not be used afterwards.
func (f *File) Close() error {
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.data = nil, nil
	return unmap()
}

func (f *File) parse() error {
	if len(f.data) >= elf.EI_NIDENT && string(f.data[:4]) == elf.ELFMAG &&
		(elf.Class(f.data[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(f.data[elf.EI_DATA]) != elf.ELFDATA2LSB) {
		return fmt.Errorf("%s: not a 64-bit little-endian ELF file, which is all that is supported", f.Path)
	}
	f.touched.add(Range{0, min(elf.EI_NIDENT, uint64(len(f.data)))})
	e, err := elf.NewFile(headerReader{bytes.NewReader(f.data), f.touched})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: not a readable ELF file: %s", f.Path, f.truncated())
	}
	if err != nil {
		return fmt.Errorf("%s: not a readable ELF file: %w", f.Path, err)
	}
	f.Type, f.Machine = e.Type, e.Machine
	for _, p := range e.Progs {
		f.Progs = append(f.Progs, p.ProgHeader)
	}
	for _, s := range e.Sections {
		f.sections = append(f.sections, s.SectionHeader)
	}
	f.BuildID = f.findBuildID()
	return nil
}

// truncated describes a file that is too short for its headers. The section headers are the last part of most files.
func (f *File) truncated() string {
	const header, tables = 64, 0x3c
	if len(f.data) < header {
		return fmt.Sprintf("it has %d bytes, fewer than an ELF header", len(f.data))
	}
	offset, count := binary.LittleEndian.Uint64(f.data[0x28:]), binary.LittleEndian.Uint16(f.data[tables:])
	return fmt.Sprintf("its %d bytes end before its headers do (%d section headers at 0x%x): was it truncated? copy it again", len(f.data), count, offset)
}

// bytesAt returns a part of the file, nil if the file does not contain all of it.
func (f *File) bytesAt(off, size uint64) []byte {
	if off > uint64(len(f.data)) || size > uint64(len(f.data))-off {
		return nil
	}
	f.touched.add(Range{off, size})
	return f.data[off : off+size : off+size]
}

// At returns the n bytes at an ELF virtual address, nil if the file has no content there, as in debug files.
func (f *File) At(vaddr, n uint64) []byte {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz && n <= p.Filesz-(vaddr-p.Vaddr) {
			return f.bytesAt(p.Off+vaddr-p.Vaddr, n)
		}
	}
	return nil
}

// Emptied reports whether the file lacks its code and the file offsets of its segments: objcopy --only-keep-debug keeps
// p_vaddr and p_memsz of a segment, but not p_offset and p_filesz. (eu-strip keeps all.)
func (f *File) Emptied() bool {
	code := false
	for _, s := range f.sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0 {
			if s.Type != elf.SHT_NOBITS {
				return false
			}
			code = true
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Filesz == p.Memsz {
			return false
		}
	}
	return code
}

// Has reports whether the file has a section with content.
func (f *File) Has(name string) bool {
	s := f.section(name)
	return s != nil && s.Type != elf.SHT_NOBITS && s.FileSize > 0
}

func (f *File) section(name string) *elf.SectionHeader {
	for i := range f.sections {
		if f.sections[i].Name == name {
			return &f.sections[i]
		}
	}
	return nil
}

// Section returns the decompressed bytes of a section, nil if there is no such section. It also finds debug sections in the
// old form .zdebug_*.
func (f *File) Section(name string) ([]byte, error) {
	if s := f.section(name); s != nil && s.Type != elf.SHT_NOBITS {
		raw := f.bytesAt(s.Offset, s.FileSize)
		if raw == nil {
			return nil, f.fault(name, "lies outside the file: is it truncated?")
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

func (f *File) fault(section, format string, args ...any) error {
	return fmt.Errorf("%s: section %s: %s", f.Path, section, fmt.Sprintf(format, args...))
}

// Limits of decompression: a small section must not take gigabytes. Debug information compresses about 3:1, that of
// libc6-dbg at most 8:1; zlib can reach 1032:1.
const (
	maxRatio   = 64
	floorRatio = 64 << 20 // bytes that any section may have
	maxSection = 1 << 34
)

// maxExpanded returns the limit for the decompressed size.
func maxExpanded(compressed int) uint64 {
	return min(max(floorRatio, maxRatio*uint64(compressed)), maxSection)
}

// decompress decompresses an SHF_COMPRESSED section: an Elf64_Chdr and the stream.
func (f *File) decompress(name string, raw []byte) ([]byte, error) {
	if len(raw) < 24 {
		return nil, f.fault(name, "a compression header needs 24 bytes, there are %d", len(raw))
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

// decompressOld decompresses a .zdebug_ section: "ZLIB", the size and the stream.
func (f *File) decompressOld(name string, raw []byte) ([]byte, error) {
	if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
		return nil, f.fault(name, "it does not start with ZLIB")
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

// notes calls visit for each note of PT_NOTE segments and SHT_NOTE sections until it returns true.
func (f *File) notes(visit func(name string, kind uint32, desc []byte) bool) {
	for _, s := range f.sections {
		if s.Type == elf.SHT_NOTE && eachNote(f.bytesAt(s.Offset, s.FileSize), s.Addralign, visit) {
			return
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && eachNote(f.bytesAt(p.Off, p.Filesz), p.Align, visit) {
			return
		}
	}
}

func eachNote(b []byte, align uint64, visit func(string, uint32, []byte) bool) bool {
	if align != 8 {
		align = 4
	}
	for len(b) >= 12 {
		nameSize := uint64(binary.LittleEndian.Uint32(b))
		descSize := uint64(binary.LittleEndian.Uint32(b[4:]))
		kind := binary.LittleEndian.Uint32(b[8:])
		nameEnd := 12 + (nameSize+3)&^3
		descEnd := nameEnd + (descSize+align-1)&^(align-1)
		if nameEnd+descSize > uint64(len(b)) {
			return false
		}
		name := strings.TrimRight(string(b[12:12+nameSize]), "\x00")
		if visit(name, kind, b[nameEnd:nameEnd+descSize]) {
			return true
		}
		b = b[min(descEnd, uint64(len(b))):]
	}
	return false
}

func (f *File) findBuildID() (id string) {
	f.notes(func(name string, kind uint32, desc []byte) bool {
		if name != "GNU" || kind != 3 || len(desc) == 0 {
			return false
		}
		id = hex.EncodeToString(desc)
		return true
	})
	return id
}

// DebugLink returns the content of .gnu_debuglink: the name of the separate debug file and its CRC-32.
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	b, err := f.Section(".gnu_debuglink")
	if err != nil || len(b) < 8 {
		return "", 0, false
	}
	n := bytes.IndexByte(b, 0)
	if n <= 0 || (n+4)&^3+4 > len(b) {
		return "", 0, false
	}
	return string(b[:n]), binary.LittleEndian.Uint32(b[(n+4)&^3:]), true
}

// AltLink returns the content of .gnu_debugaltlink: the name of the supplementary file of dwz and its build ID in hex.
func (f *File) AltLink() (name, buildID string, ok bool) {
	b, err := f.Section(".gnu_debugaltlink")
	n := bytes.IndexByte(b, 0)
	if err != nil || n <= 0 {
		return "", "", false
	}
	return string(b[:n]), hex.EncodeToString(b[n+1:]), true
}

// errPanic is the error for a file on which a library panics or whose pages vanish.
var errPanic = errors.New("damaged, or truncated while it was read")
