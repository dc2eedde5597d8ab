//go:build linux

package names

import (
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// tlsModule is a module with thread-local variables.
type tlsModule struct {
	*target.Module
	// id is its index in the vector of each thread.
	id, size uint64
}

// Offsets in structures of glibc, and of <link.h>.
const (
	vectorOffset   = 8  // in struct pthread: dtv
	vectorEntry    = 16 // size of dtv_t
	debugMap       = 8  // r_map of struct r_debug
	mapNext        = 24 // l_next of struct link_map
	maxModules     = 1 << 12
	debugStructure = "_r_debug"
	// Of musl: a variable with the address of struct debug, and the size of an entry of the vector.
	muslDebug       = "_dl_debug_addr"
	muslVectorEntry = 8
)

// threadLocalAt returns the module with a word among its thread-local variables, of the thread with a thread pointer,
// and the offset of the word, or nil.
func (p *Process) threadLocalAt(pointer, address uint64) (m *target.Module, offset uint64) {
	if p.threadLocal == nil {
		p.threadLocal = p.tlsModules()
	}
	vector, entry := word(p.Memory, pointer+vectorOffset), uint64(vectorEntry)
	if p.Libc != nil && p.Libc.Symbol(muslDebug).Start != 0 {
		entry = muslVectorEntry
	}
	for _, m := range p.threadLocal {
		start := word(p.Memory, vector+m.id*entry)
		if address >= start && address-start < m.size {
			return m.Module, address - start
		}
	}
	return nil, 0
}

// tlsModules lists the modules with thread-local variables. The dynamic linker numbers them in the order in which it
// loads them.
func (p *Process) tlsModules() []tlsModule {
	sizes := roots.TLSSizes(p.Memory, p.Mappings)
	list := []tlsModule{}
	for _, m := range p.loaded() {
		if size := sizes[m.Path]; size > 0 {
			list = append(list, tlsModule{m, uint64(len(list)) + 1, size})
		}
	}
	return list
}

// loaded lists the modules in the order in which they were loaded.
func (p *Process) loaded() (list []*target.Module) {
	var at uint64
	for _, m := range p.Modules {
		if debug := m.Symbol(debugStructure).Start; debug != 0 {
			at = word(p.Memory, debug+debugMap)
		} else if debug := m.Symbol(muslDebug).Start; debug != 0 {
			at = word(p.Memory, word(p.Memory, debug)+debugMap)
		}
	}
	if at == 0 && len(p.Modules) > 0 { // linked statically
		return p.Modules[:1]
	}
	for range maxModules {
		if at == 0 {
			break
		}
		for _, m := range p.Modules {
			if m.Base == word(p.Memory, at) {
				list = append(list, m)
				break
			}
		}
		at = word(p.Memory, at+mapNext)
	}
	return list
}
