//go:build linux

package names

import (
	"context"
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Process is what is known of the process.
type Process struct {
	PID     int
	Modules []*target.Module
	Libc    *target.Module
	// Mappings and Memory are those of the process.
	Mappings []target.Mapping
	Memory   blocks.Memory
	// Options locate files; Sysroot is set to the root directory of the process.
	Options symbolize.Options

	files       map[*target.Module]*file
	threadLocal []tlsModule       // nil if they have not been asked for
	mapped      []blocks.Range    // the files, by address
	classes     map[uint64]string // by the addresses of tables of virtual functions
}

// Held is a word of a root.
type Held struct {
	Root roots.Root
	// Address is that of the word.
	Address uint64
}

// Variable is a word of a global variable. If no symbol covers the word, its Name is "".
type Variable struct {
	symbolize.Variable
	// Module is the path of the file, and Address that of the word in it, as nm shows it.
	Module  string
	Address uint64
	// Path leads to the member that has the word: ".cache[3].items". It ends at the first type of a standard library.
	// Type is that of the member.
	Path string

	found found
	word  uint64 // its value
}

// String returns the name, or else the place, like "libfoo.so+0x4010".
func (v Variable) String() string {
	if v.Name != "" {
		return v.Name + v.Path
	}
	return fmt.Sprintf("%s+%#x", symbolize.FileName(v.Module), v.Address)
}

// Variables names words of global variables. The result has the order of the words. Words of a module whose
// file cannot be read, because it was deleted or replaced, have no names.
func (p *Process) Variables(ctx context.Context, words []Held) ([]Variable, error) {
	list := make([]Variable, len(words))
	of := map[*target.Module][]int{} // indices
	for i, w := range words {
		m := p.module(w)
		list[i] = Variable{Module: w.Root.Module, Address: w.Address, word: word(p.Memory, w.Address)}
		if m != nil {
			list[i].Address -= m.Base
			of[m] = append(of[m], i)
		}
	}
	for _, m := range p.Modules {
		if err := p.nameIn(ctx, m, of[m], list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// module returns the module in whose data a word is: of those with the path, the last one that starts before
// it.
func (p *Process) module(w Held) (found *target.Module) {
	for _, m := range p.Modules {
		if m.Path == w.Root.Module && m.Base <= w.Address && (found == nil || m.Base > found.Base) {
			found = m
		}
	}
	return found
}

// nameIn names the variables with some indices, which are in one module.
func (p *Process) nameIn(ctx context.Context, m *target.Module, indices []int, list []Variable) error {
	if len(indices) == 0 {
		return nil
	}
	addresses := make([]uint64, len(indices))
	for i, index := range indices {
		addresses[i] = list[index].Address
	}
	f := p.file(ctx, m)
	if f == nil {
		return ctx.Err()
	}
	// An error means that there are fewer types.
	variables, _ := f.Variables(addresses)
	for i, v := range variables {
		of := &list[indices[i]]
		of.set(f, v, m.Base+of.Address)
	}
	return ctx.Err()
}

// set sets what is known of a variable with a word at an address.
func (v *Variable) set(f *file, of symbolize.Variable, address uint64) {
	v.Variable = of
	v.Name = strings.ReplaceAll(v.Name, "[abi:cxx11]", "")
	v.Type = Short(v.Type)
	if of.Ref != 0 {
		if found, ok := f.findInVariable(of.Ref, of.Offset, address-of.Offset); ok {
			v.found, v.Path = found, found.path
			v.Type = f.name(found.shown)
		}
	}
	v.simplifyRust()
}

// simplifyRust removes what the macro thread_local! adds: app::LOCAL::{{constant}}::{{closure}}::__RUST_STD_INTERNAL_VAL.
func (v *Variable) simplifyRust() {
	if name, ok := strings.CutSuffix(v.Name, "::__RUST_STD_INTERNAL_VAL"); ok {
		v.Name, _, _ = strings.Cut(name, "::{")
		if templateOf(v.Type) == "Storage" {
			v.Type = argument(v.Type)
		}
	}
}

// file returns the types of a module, or nil. Those of a file that was deleted or replaced are not known.
func (p *Process) file(ctx context.Context, m *target.Module) *file {
	if f, ok := p.files[m]; ok {
		return f
	}
	if p.files == nil {
		p.files = map[*target.Module]*file{}
	}
	var f *file
	if types, err := symbolize.OpenTypes(ctx, p.path(m), p.options()); err == nil {
		f = &file{types, m}
	}
	p.files[m] = f
	return f
}

// Close closes the files.
func (p *Process) Close() {
	for _, f := range p.files {
		if f != nil {
			_ = f.Close()
		}
	}
	p.files = nil
}

// path returns where the file of a module is seen from here.
func (p *Process) path(m *target.Module) string { return p.root() + m.Path }

func (p *Process) root() string { return fmt.Sprintf("/proc/%d/root", p.PID) }

func (p *Process) options() symbolize.Options {
	o := p.Options
	o.Sysroot = p.root()
	return o
}

// Function returns the function of the program in which a thread is: the innermost one outside of the C library
// that has a name, or "".
func (p *Process) Function(ctx context.Context, frames []unwind.Frame) string {
	for _, f := range frames {
		if f.Module == nil || f.Module == p.Libc {
			continue
		}
		// An error means that there may be no name.
		locations, _ := symbolize.ELF(ctx, p.path(f.Module), []uint64{f.Call - f.Module.Base}, p.options())
		for _, l := range locations {
			if len(l.Frames) > 0 {
				return l.Frames[0].Function
			}
		}
	}
	return ""
}
