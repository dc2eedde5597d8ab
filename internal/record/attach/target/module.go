//go:build linux

package target

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Range is a range of addresses.
type Range struct{ Start, End uint64 }

// Contains reports whether the range contains an address.
func (r Range) Contains(address uint64) bool { return address >= r.Start && address < r.End }

// Module is an ELF object in the memory of a process.
type Module struct {
	Path string
	// Base is added to the addresses in the file.
	Base uint64
	// Code and Writable list the executable and the writable segments, as the program headers have them.
	Code, Writable []Range
	// TLS is the size of the thread-local variables in bytes, and TLSAlign their alignment, which is not checked.
	TLS, TLSAlign uint64
	// Unwind is the address of .eh_frame_hdr, or 0.
	Unwind uint64
	// Interpreter reports whether the object asks for a dynamic linker.
	Interpreter bool

	mem                             Memory
	symbols, strings, gnuHash, hash uint64
	versions                        uint64
	dynamic, dynamicSize            uint64
}

// Modules returns the ELF objects in the memory of a process, in the order of their addresses.
func Modules(mem Memory, mappings []Mapping) (list []*Module) {
	for _, m := range mappings {
		file := strings.HasPrefix(m.Path, "/") || m.Path == "[vdso]"
		if m.Offset != 0 || !file || !strings.HasPrefix(m.Permissions, "r") {
			continue
		}
		if mod, err := readModule(mem, m); err == nil {
			list = append(list, mod)
		}
	}
	return list
}

const (
	headerSize  = 64
	segmentSize = 56
	maxSegments = 64
)

// readModule reads the object whose first page is mapped at m.
func readModule(mem Memory, m Mapping) (*Module, error) {
	mod, err := ReadHeaders(mem, m)
	if err != nil {
		return nil, err
	}
	mod.mem = mem
	return mod, mod.readDynamic()
}

// Reader reads the memory of a process, or an image of it.
type Reader interface {
	Read(address uint64, b []byte) error
}

// ReadHeaders reads the program headers of the object whose first page is mapped at m. The object has no symbols.
func ReadHeaders(mem Reader, m Mapping) (*Module, error) {
	var header [headerSize]byte
	if err := mem.Read(m.Start, header[:]); err != nil {
		return nil, err
	}
	if string(header[:4]) != elf.ELFMAG || elf.Class(header[4]) != elf.ELFCLASS64 {
		return nil, errors.New("no 64-bit ELF object")
	}
	n := int(binary.LittleEndian.Uint16(header[56:]))
	if n == 0 || n > maxSegments {
		return nil, fmt.Errorf("%d segments", n)
	}
	segments := make([]byte, n*segmentSize)
	if err := mem.Read(m.Start+binary.LittleEndian.Uint64(header[32:]), segments); err != nil {
		return nil, err
	}
	mod := &Module{Path: m.Path}
	mod.addSegments(m.Start, segments)
	return mod, nil
}

func (m *Module) addSegments(start uint64, b []byte) {
	first := true
	for ; len(b) >= segmentSize; b = b[segmentSize:] {
		flags := elf.ProgFlag(binary.LittleEndian.Uint32(b[4:]))
		address, size := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[40:])
		switch elf.ProgType(binary.LittleEndian.Uint32(b)) {
		case elf.PT_LOAD:
			if first {
				m.Base, first = start-address&^(page-1), false
			}
			r := Range{m.Base + address, m.Base + address + size}
			if flags&elf.PF_X != 0 {
				m.Code = append(m.Code, r)
			}
			if flags&elf.PF_W != 0 && r.Start < r.End {
				m.Writable = append(m.Writable, r)
			}
		case elf.PT_TLS:
			m.TLS, m.TLSAlign = size, binary.LittleEndian.Uint64(b[48:])
		case elf.PT_DYNAMIC:
			m.dynamic, m.dynamicSize = m.Base+address, size
		case elf.PT_GNU_EH_FRAME:
			m.Unwind = m.Base + address
		case elf.PT_INTERP:
			m.Interpreter = true
		}
	}
}

const maxDynamic = 1 << 16

// readDynamic reads the dynamic section, if there is one.
func (m *Module) readDynamic() error {
	if m.dynamic == 0 {
		return nil
	}
	b := make([]byte, min(m.dynamicSize, maxDynamic))
	if err := m.mem.Read(m.dynamic, b); err != nil {
		return err
	}
	for ; len(b) >= 16; b = b[16:] {
		value := binary.LittleEndian.Uint64(b[8:])
		switch elf.DynTag(binary.LittleEndian.Uint64(b)) {
		case elf.DT_NULL:
			return nil
		case elf.DT_SYMTAB:
			m.symbols = m.relocated(value)
		case elf.DT_STRTAB:
			m.strings = m.relocated(value)
		case elf.DT_GNU_HASH:
			m.gnuHash = m.relocated(value)
		case elf.DT_HASH:
			m.hash = m.relocated(value)
		case elf.DT_VERSYM:
			m.versions = m.relocated(value)
		}
	}
	return nil
}

// relocated returns the address that an entry of the dynamic section stands for. The loader has
// relocated it, or not (musl, vdso).
func (m *Module) relocated(value uint64) uint64 {
	if value < m.Base {
		return value + m.Base
	}
	return value
}

// HasCode reports whether an address is in the code of the object.
func (m *Module) HasCode(address uint64) bool {
	for _, r := range m.Code {
		if r.Contains(address) {
			return true
		}
	}
	return false
}

// Dynamic reports whether the object has a dynamic section.
func (m *Module) Dynamic() bool { return m.dynamic != 0 }

const (
	symbolSize = 24
	maxChain   = 1 << 16
)

// Symbol returns the addresses of a symbol that the object defines and exports, in its default
// version. The range is empty, with Start 0, if there is none.
func (m *Module) Symbol(name string) Range {
	if m == nil || m.symbols == 0 || m.strings == 0 {
		return Range{}
	}
	if m.gnuHash != 0 {
		return m.byGNUHash(name)
	}
	return m.byHash(name)
}

// word reads a number of a hash table. An unreadable one is 0, which ends every search.
func (m *Module) word(address uint64) uint32 {
	v, err := m.mem.Uint32(address)
	if err != nil {
		return 0
	}
	return v
}

func (m *Module) byGNUHash(name string) Range {
	hash := uint32(5381)
	for i := range len(name) {
		hash = hash*33 + uint32(name[i])
	}
	buckets, first, bloom := m.word(m.gnuHash), m.word(m.gnuHash+4), m.word(m.gnuHash+8)
	if buckets == 0 {
		return Range{}
	}
	table := m.gnuHash + 16 + 8*uint64(bloom)
	chain := table + 4*uint64(buckets)
	i := m.word(table + 4*uint64(hash%buckets))
	for n := 0; n < maxChain && i >= first && i != 0; n, i = n+1, i+1 {
		h := m.word(chain + 4*uint64(i-first))
		if h|1 == hash|1 {
			if r, ok := m.symbol(i, name); ok {
				return r
			}
		}
		if h&1 != 0 {
			break
		}
	}
	return Range{}
}

func (m *Module) byHash(name string) Range {
	if m.hash == 0 {
		return Range{}
	}
	var hash uint32
	for i := range len(name) {
		hash = hash<<4 + uint32(name[i])
		high := hash & 0xf0000000
		hash = (hash ^ high>>24) &^ high
	}
	buckets := m.word(m.hash)
	if buckets == 0 {
		return Range{}
	}
	i := m.word(m.hash + 8 + 4*uint64(hash%buckets))
	for n := 0; n < maxChain && i != 0; n++ {
		if r, ok := m.symbol(i, name); ok {
			return r
		}
		i = m.word(m.hash + 8 + 4*uint64(buckets) + 4*uint64(i))
	}
	return Range{}
}

// symbol returns symbol number i if it has the name and is defined in its default version.
func (m *Module) symbol(i uint32, name string) (Range, bool) {
	const hidden = 0x8000
	var b [symbolSize]byte
	if m.mem.Read(m.symbols+symbolSize*uint64(i), b[:]) != nil {
		return Range{}, false
	}
	value, size := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	text := m.strings + uint64(binary.LittleEndian.Uint32(b[:]))
	if binary.LittleEndian.Uint16(b[6:]) == 0 || value == 0 || m.mem.String(text, len(name)+1) != name {
		return Range{}, false
	}
	if m.versions != 0 {
		if v, err := m.mem.Uint16(m.versions + 2*uint64(i)); err != nil || v&hidden != 0 {
			return Range{}, false
		}
	}
	return Range{m.Base + value, m.Base + value + size}, true
}
