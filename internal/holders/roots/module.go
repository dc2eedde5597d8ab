//go:build linux

package roots

import (
	"debug/elf"
	"encoding/binary"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// segments has what this package needs of the program headers of a module.
type segments struct {
	writable []blocks.Range
	tls      uint64 // size with alignment
	tlsSize  uint64
}

const (
	elfHeader   = 64
	maxSegments = 64
	segmentSize = 56
	page        = 4096
	maxTLS      = 16 << 20
)

// readSegments reads the program headers of the module whose first page is mapped at m.
func readSegments(memory blocks.Memory, m target.Mapping) (s segments, ok bool) {
	var header [elfHeader]byte
	if memory.Read(m.Start, header[:]) != nil {
		return s, false
	}
	if string(header[:4]) != elf.ELFMAG || elf.Class(header[4]) != elf.ELFCLASS64 {
		return s, false
	}
	n := binary.LittleEndian.Uint16(header[56:])
	if n == 0 || n > maxSegments {
		return s, false
	}
	b := make([]byte, int(n)*segmentSize)
	if memory.Read(m.Start+binary.LittleEndian.Uint64(header[32:]), b) != nil {
		return s, false
	}
	base, first := uint64(0), true
	for ; len(b) > 0; b = b[segmentSize:] {
		flags := elf.ProgFlag(binary.LittleEndian.Uint32(b[4:]))
		address, size := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[40:])
		switch elf.ProgType(binary.LittleEndian.Uint32(b)) {
		case elf.PT_LOAD:
			if first {
				base, first = m.Start-address&^(page-1), false
			}
			if start := base + address; flags&elf.PF_W != 0 && start+size > start {
				s.writable = append(s.writable, blocks.Range{Start: start, End: start + size})
			}
		case elf.PT_TLS:
			align := max(binary.LittleEndian.Uint64(b[48:]), 1)
			if size < maxTLS && align < maxTLS {
				s.tls, s.tlsSize = size+align, size
			}
		}
	}
	return s, true
}

// modules calls a function for each module in the memory of a process.
func modules(memory blocks.Memory, mappings []target.Mapping, f func(path string, s segments)) {
	for _, m := range mappings {
		if m.Offset == 0 && strings.HasPrefix(m.Path, "/") && strings.HasPrefix(m.Permissions, "r") {
			if s, ok := readSegments(memory, m); ok {
				f(m.Path, s)
			}
		}
	}
}

// addGlobals adds the writable data of modules. The kernel may join the .bss with other memory: it ends where
// the program headers say.
func (b *builder) addGlobals() {
	modules(b.Memory, b.Mappings, func(path string, s segments) {
		for _, r := range s.writable {
			for _, m := range b.Mappings {
				part := blocks.Range{Start: max(r.Start, m.Start), End: min(r.End, m.End)}
				if part.Start < part.End && strings.HasPrefix(m.Permissions, "r") && strings.HasSuffix(m.Permissions, "p") {
					b.add(Global, part, path, -1)
				}
			}
		}
	})
}

// TLSSizes returns the sizes of the thread-local variables of modules, by path.
func TLSSizes(memory blocks.Memory, mappings []target.Mapping) map[string]uint64 {
	sizes := map[string]uint64{}
	modules(memory, mappings, func(path string, s segments) {
		if s.tlsSize > 0 {
			sizes[path] = s.tlsSize
		}
	})
	return sizes
}

// tlsSize returns how much memory before the thread pointer may have thread-local variables.
func tlsSize(memory blocks.Memory, mappings []target.Mapping) uint64 {
	const surplus = 8 << 10 // for modules that are loaded later
	size := uint64(surplus)
	modules(memory, mappings, func(_ string, s segments) { size += s.tls })
	return size
}

// Data returns the writable data of a module.
func Data(memory blocks.Memory, mappings []target.Mapping, module *target.Module) (list []blocks.Range) {
	for _, m := range mappings {
		if m.Path != module.Path || m.Offset != 0 {
			continue
		}
		if s, ok := readSegments(memory, m); ok {
			list = append(list, s.writable...)
		}
	}
	return list
}
