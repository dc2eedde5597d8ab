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

// Variable is the name of a word of a global variable.
type Variable struct {
	// Name is that of the symbol, demangled, or "" if no symbol covers the word.
	Name string
	// Module is the path of the file, and Offset the address of the word in it, as nm shows it.
	Module string
	Offset uint64
	// File and Line are where debug information says it is defined, or "" and 0.
	File string
	Line int
}

// String returns the name, or else the place, like "libfoo.so+0x4010".
func (v Variable) String() string {
	if v.Name != "" {
		return v.Name
	}
	return fmt.Sprintf("%s+%#x", symbolize.FileName(v.Module), v.Offset)
}

// Variables names words of global variables. The result has the order of the words. Words of a module whose
// file cannot be read, because it was deleted or replaced, have no names.
func (p Process) Variables(ctx context.Context, words []Held) ([]Variable, error) {
	list := make([]Variable, len(words))
	of := map[*target.Module][]int{} // indices
	for i, w := range words {
		list[i] = Variable{Module: w.Root.Module, Offset: w.Address}
		for _, m := range p.Modules {
			if m.Path == w.Root.Module && m.Base <= w.Address && list[i].Offset > w.Address-m.Base {
				list[i].Offset = w.Address - m.Base
			}
		}
		if m := p.module(w.Root.Module, w.Address-list[i].Offset); m != nil {
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

func (p Process) module(path string, base uint64) *target.Module {
	for _, m := range p.Modules {
		if m.Path == path && m.Base == base {
			return m
		}
	}
	return nil
}

// nameIn names the variables with some indices, which are in one module.
func (p Process) nameIn(ctx context.Context, m *target.Module, indices []int, list []Variable) error {
	if len(indices) == 0 {
		return nil
	}
	offsets := make([]uint64, len(indices))
	for i, index := range indices {
		offsets[i] = list[index].Offset
	}
	locations := p.locate(ctx, m, offsets)
	for i := range locations {
		if frames := locations[i].Frames; len(frames) > 0 {
			v := &list[indices[i]]
			v.Name, v.File, v.Line = frames[0].Function, frames[0].File, frames[0].Line
		}
	}
	return ctx.Err()
}

// locate names addresses of a module. It returns nil if its file cannot be read.
func (p Process) locate(ctx context.Context, m *target.Module, offsets []uint64) []symbolize.Location {
	o := p.Options
	o.Sysroot = fmt.Sprintf("/proc/%d/root", p.PID)
	locations, err := symbolize.ELF(ctx, m.Path, offsets, o)
	if err != nil {
		return nil
	}
	return locations
}

// Function returns the function of the program in which a thread is: the innermost one outside of the C library
// that has a name, or "".
func (p Process) Function(ctx context.Context, frames []unwind.Frame) string {
	for _, f := range frames {
		if f.Module == nil || f.Module == p.Libc {
			continue
		}
		for _, l := range p.locate(ctx, f.Module, []uint64{f.Call - f.Module.Base}) {
			if len(l.Frames) > 0 {
				return l.Frames[0].Function
			}
		}
	}
	return ""
}
