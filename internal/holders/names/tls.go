//go:build linux

package names

import (
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// tlsModule is a module with thread-local variables.
type tlsModule struct {
	*target.Module
	size uint64
}

// Offsets in structures of <link.h>.
const (
	debugMap       = 8  // r_map of struct r_debug
	mapNext        = 24 // l_next of struct link_map
	maxModules     = 1 << 12
	debugStructure = "_r_debug"
	// muslDebug is a variable of musl with the address of struct debug.
	muslDebug = "_dl_debug_addr"
)

// threadLocalAt returns the module with a word among its thread-local variables, of the thread with a thread pointer,
// and the offset of the word, or nil.
func (p *Process) threadLocalAt(pointer, address uint64) (m *target.Module, offset uint64) {
	if p.threadLocal == nil {
		p.threadLocal = p.tlsModules()
	}
	for i, start := range roots.Vector(p.Memory, pointer, p.Musl) {
		if i < len(p.threadLocal) && address >= start && address-start < p.threadLocal[i].size {
			return p.threadLocal[i].Module, address - start
		}
	}
	return nil, 0
}

// tlsModules lists the modules with thread-local variables in the order of their numbers: that in which the dynamic
// linker loads them.
func (p *Process) tlsModules() []tlsModule {
	sizes := roots.TLSSizes(p.Memory, p.Mappings)
	list := []tlsModule{}
	for _, m := range p.loaded() {
		if size := sizes[m.Path]; size > 0 {
			list = append(list, tlsModule{m, size})
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
