package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// notes calls visit for each note in SHT_NOTE sections and PT_NOTE segments until it returns true.
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

// eachNote calls visit for each note until it returns true, and reports whether it did.
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

// findBuildID returns the content of the note NT_GNU_BUILD_ID in hex, or "".
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

// DebugLink returns the content of .gnu_debuglink: the name of the separate debug file and its
// CRC-32.
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

// AltLink returns the content of .gnu_debugaltlink: the name of the supplementary file of dwz and
// its build ID in hex.
func (f *File) AltLink() (name, buildID string, ok bool) {
	b, err := f.Section(".gnu_debugaltlink")
	n := bytes.IndexByte(b, 0)
	if err != nil || n <= 0 {
		return "", "", false
	}
	return string(b[:n]), hex.EncodeToString(b[n+1:]), true
}
