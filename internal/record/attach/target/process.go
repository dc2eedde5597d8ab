//go:build linux

package target

import (
	"path/filepath"
	"strings"
)

// Process is what is known of a process without stopping it.
type Process struct {
	PID      int
	Memory   Memory
	Mappings []Mapping
	Modules  []*Module
	// Libc, Loader and Engine are the C library, the dynamic linker and heaplapse's engine. Each is
	// nil if there is none.
	Libc, Loader, Engine *Module
	// Allocators lists the other objects that define malloc.
	Allocators []*Module
	// Musl reports whether the C library is musl.
	Musl bool
}

// Open reads a process.
func Open(pid int) (*Process, error) {
	p := &Process{PID: pid, Memory: Memory{PID: pid}}
	return p, p.Refresh()
}

// EngineSymbol is a name that only the engine defines.
const EngineSymbol = "heaplapse_attach_control"

// Refresh reads the mappings and the modules again.
func (p *Process) Refresh() error {
	mappings, err := Mappings(p.PID)
	if err != nil {
		return err
	}
	p.Mappings, p.Modules = mappings, Modules(p.Memory, mappings)
	p.Libc, p.Loader, p.Engine, p.Allocators = nil, nil, nil, nil
	for _, m := range p.Modules {
		p.classify(m)
	}
	return nil
}

func (p *Process) classify(m *Module) {
	base := strings.TrimSuffix(filepath.Base(m.Path), " (deleted)")
	switch {
	case strings.HasPrefix(base, "ld-linux") || strings.HasPrefix(base, "ld-2."):
		p.Loader = m
	case m.Symbol("_dl_debug_addr").Start != 0: // its file may be called libc.so
		p.Libc, p.Musl = m, true
	case m.Symbol("gnu_get_libc_version").Start != 0:
		p.Libc = m
	case m.Symbol(EngineSymbol).Start != 0:
		p.Engine = m
	case m.Symbol("malloc").Start != 0:
		p.Allocators = append(p.Allocators, m)
	}
}

// Function returns the addresses of a function of the C library, which old versions have in several
// libraries.
func (p *Process) Function(name string) Range {
	if r := p.Libc.Symbol(name); r.Start != 0 {
		return r
	}
	for _, m := range p.Modules {
		base := filepath.Base(m.Path)
		if strings.HasPrefix(base, "libdl") || strings.HasPrefix(base, "libpthread") {
			if r := m.Symbol(name); r.Start != 0 {
				return r
			}
		}
	}
	return Range{}
}

// Program returns the object of the program: the one with the lowest address that asks for a dynamic
// linker, or nil.
func (p *Process) Program() *Module {
	for _, m := range p.Modules {
		if m.Interpreter && m != p.Libc {
			return m
		}
	}
	return nil
}
