//go:build linux

package names

import (
	"context"
	"fmt"

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
	// Options locate files; Sysroot is set to the root directory of the process.
	Options symbolize.Options
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
}

// String returns the name, or else the place, like "libfoo.so+0x4010".
func (v Variable) String() string {
	if v.Name != "" {
		return v.Name
	}
	return fmt.Sprintf("%s+%#x", symbolize.FileName(v.Module), v.Address)
}

// Variables names words of global variables. The result has the order of the words. Words of a module whose
// file cannot be read, because it was deleted or replaced, have no names.
func (p Process) Variables(ctx context.Context, words []Held) ([]Variable, error) {
	list := make([]Variable, len(words))
	of := map[*target.Module][]int{} // indices
	for i, w := range words {
		m := p.module(w)
		list[i] = Variable{Module: w.Root.Module, Address: w.Address}
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
func (p Process) module(w Held) (found *target.Module) {
	for _, m := range p.Modules {
		if m.Path == w.Root.Module && m.Base <= w.Address && (found == nil || m.Base > found.Base) {
			found = m
		}
	}
	return found
}

// nameIn names the variables with some indices, which are in one module.
func (p Process) nameIn(ctx context.Context, m *target.Module, indices []int, list []Variable) error {
	if len(indices) == 0 {
		return nil
	}
	addresses := make([]uint64, len(indices))
	for i, index := range indices {
		addresses[i] = list[index].Address
	}
	// An error means that there are fewer names.
	variables, _ := symbolize.Variables(ctx, p.path(m), addresses, p.options())
	for i, v := range variables {
		list[indices[i]].Variable = v
	}
	return ctx.Err()
}

// path returns where the file of a module is seen from here.
func (p Process) path(m *target.Module) string { return p.root() + m.Path }

func (p Process) root() string { return fmt.Sprintf("/proc/%d/root", p.PID) }

func (p Process) options() symbolize.Options {
	o := p.Options
	o.Sysroot = p.root()
	return o
}

// Function returns the function of the program in which a thread is: the innermost one outside of the C library
// that has a name, or "".
func (p Process) Function(ctx context.Context, frames []unwind.Frame) string {
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
