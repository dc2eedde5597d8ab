//go:build linux

package roots

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

const (
	page   = 4096
	maxTLS = 16 << 20
)

// modules calls a function for each module in the memory of a process.
func modules(memory blocks.Memory, mappings []target.Mapping, f func(m *target.Module)) {
	for _, m := range mappings {
		if m.Offset == 0 && strings.HasPrefix(m.Path, "/") && strings.HasPrefix(m.Permissions, "r") {
			if module, err := target.ReadHeaders(memory, m); err == nil {
				f(module)
			}
		}
	}
}

// addGlobals adds the writable data of modules. The kernel may join the .bss with other memory: it ends where
// the program headers say.
//
// That of the C library is followed last. It holds little of the program's, but buffers with texts between which old
// words may be: those of getpwnam(3), for example.
func (b *builder) addGlobals() {
	modules(b.Memory, b.Mappings, func(module *target.Module) {
		n := len(b.list)
		for _, r := range module.Writable {
			for _, m := range b.Mappings {
				part := blocks.Range{Start: max(r.Start, m.Start), End: min(r.End, m.End)}
				if part.Start < part.End && strings.HasPrefix(m.Permissions, "r") && strings.HasSuffix(m.Permissions, "p") {
					b.add(Global, part, module.Path, -1)
				}
			}
		}
		if module.Path == b.Libc {
			b.setTurn(n, turn(Global, 1))
		}
	})
}

// hasTLS reports whether a module has thread-local variables, of a size that is possible.
func hasTLS(m *target.Module) bool { return m.TLS > 0 && m.TLS < maxTLS && m.TLSAlign < maxTLS }

// TLSSizes returns the sizes of the thread-local variables of modules, by path.
func TLSSizes(memory blocks.Memory, mappings []target.Mapping) map[string]uint64 {
	sizes := map[string]uint64{}
	modules(memory, mappings, func(m *target.Module) {
		if hasTLS(m) {
			sizes[m.Path] = m.TLS
		}
	})
	return sizes
}

// tlsSize returns how much memory before the thread pointer may have thread-local variables.
func tlsSize(memory blocks.Memory, mappings []target.Mapping) uint64 {
	const surplus = 8 << 10 // for modules that are loaded later
	size := uint64(surplus)
	modules(memory, mappings, func(m *target.Module) {
		if hasTLS(m) {
			size += m.TLS + max(m.TLSAlign, 1)
		}
	})
	return size
}

// Data returns the writable data of a module.
func Data(memory blocks.Memory, mappings []target.Mapping, module *target.Module) (list []blocks.Range) {
	for _, m := range mappings {
		if m.Path != module.Path || m.Offset != 0 {
			continue
		}
		if headers, err := target.ReadHeaders(memory, m); err == nil {
			for _, r := range headers.Writable {
				list = append(list, blocks.Range(r))
			}
		}
	}
	return list
}
