// Package elffile reads ELF files that may be malformed: their sections, build IDs, symbols and PLT
// stubs. A crafted or truncated file is an error, never a panic, and costs no more memory than the
// sections that are read.
//
// Files are mapped, so that only the pages of a large binary that are needed are read.
//
// Sources: System V ABI, "Object Files" and "Program Loading" (ELF-64), the psABIs of x86-64 and
// arm64, and the GNU extensions that are named where they are read.
package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/heaplapse/heaplapse/internal/infile"
)

// File is an open ELF file.
type File struct {
	// Path names the file in results and errors. Local is the path of the file that is read.
	Path, Local string

	Type    elf.Type
	Machine elf.Machine
	Progs   []elf.ProgHeader
	// BuildID is the GNU build ID in hex, or "" if there is none.
	BuildID string
	// Info is the file's state when it was opened.
	Info fs.FileInfo

	data     []byte
	unmap    func() error
	sections []elf.SectionHeader
	headers  *Touched // the parts that Open read
	touched  *Touched // all parts that were read; nil until Record is called
}

// Open maps a file and reads its headers. It supports 64-bit little-endian files only (x86-64,
// arm64, riscv64, …).
func Open(path string) (*File, error) { return OpenAs(path, path) }

// OpenAs opens the file at local and names it path.
func OpenAs(path, local string) (*File, error) {
	f, info, err := infile.Open(local)
	if err != nil {
		if errors.Is(err, infile.ErrNotRegular) {
			err = fmt.Errorf("%s: %w", path, infile.ErrNotRegular)
		}
		return nil, err
	}
	defer f.Close()
	e, err := OpenPart(path, f, 0, info)
	if err != nil {
		return nil, err
	}
	e.Local = local
	return e, nil
}

// OpenPart opens an ELF file that is a part of another file: its size and times are those of info,
// and it begins at an offset that is a multiple of 64 KiB. It is named path and has no Local.
func OpenPart(path string, f *os.File, offset int64, info fs.FileInfo) (*File, error) {
	data, unmap, err := mapFile(f, offset, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	e := &File{Path: path, Info: info, data: data, unmap: unmap}
	headers := e.Record()
	if err := e.Guard(e.parse); err != nil {
		e.Close()
		return nil, err
	}
	e.headers, e.touched = headers, nil
	return e, nil
}

// Record starts to record the parts of the file that are read. The result includes the headers,
// which Open has read.
func (f *File) Record() *Touched {
	f.touched = cmp.Or(f.headers, &Touched{})
	return f.touched
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
		return fmt.Errorf("%s: not a 64-bit little-endian ELF file: other ELF files are not supported", f.Path)
	}
	f.touched.add(Range{0, min(elf.EI_NIDENT, uint64(len(f.data)))})
	if n := min(len(elf.ELFMAG), len(f.data)); string(f.data[:n]) != elf.ELFMAG[:n] {
		return fmt.Errorf("%s: not a readable ELF file: want a program, a library or a file of debug information", f.Path)
	}
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

// truncated describes a file that is too short for its headers. Section headers are at the end of
// most files.
func (f *File) truncated() string {
	const header, tables = 64, 0x3c
	if len(f.data) < header {
		return fmt.Sprintf("it has %d bytes, fewer than an ELF header", len(f.data))
	}
	offset, count := binary.LittleEndian.Uint64(f.data[0x28:]), binary.LittleEndian.Uint16(f.data[tables:])
	return fmt.Sprintf(
		"its %d bytes end before its headers (%d section headers at 0x%x): was it truncated? copy it again",
		len(f.data),
		count,
		offset,
	)
}

// bytesAt returns a part of the file, or nil if the file ends before it.
func (f *File) bytesAt(off, size uint64) []byte {
	if off > uint64(len(f.data)) || size > uint64(len(f.data))-off {
		return nil
	}
	f.touched.add(Range{off, size})
	return f.data[off : off+size : off+size]
}

// At returns the n bytes at an ELF virtual address, or nil if the file does not have them, which is
// the case in debug files.
func (f *File) At(vaddr, n uint64) []byte {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz && n <= p.Filesz-(vaddr-p.Vaddr) {
			return f.bytesAt(p.Off+vaddr-p.Vaddr, n)
		}
	}
	return nil
}

// Emptied reports whether the file has neither its code nor the file offsets of its segments.
// objcopy --only-keep-debug keeps p_vaddr and p_memsz of segments, but not p_offset and p_filesz;
// eu-strip keeps them all.
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
