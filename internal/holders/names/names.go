//go:build linux

package names

import (
	"context"
	"fmt"
	"os"
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
	// Musl reports whether Libc is musl, not glibc.
	Musl bool
	// Mappings and Memory are those of the process.
	Mappings []target.Mapping
	Memory   blocks.Memory
	// Whole has blocks that have nothing of the allocator in them, and may be nil. Of others, 8 bytes are the
	// allocator's.
	Whole *blocks.Set
	// Options locate files; Sysroot is set to the root directory of the process.
	Options symbolize.Options

	files       map[*target.Module]*file
	localWords  int               // that Locals has looked at
	threadLocal []tlsModule       // nil if they have not been asked for
	mapped      []blocks.Range    // the files, by address
	classes     map[uint64]string // by the addresses of tables of virtual functions
	buf         []byte
	examined    map[blocks.Range]bool // blocks of containers
}

// Held is a word of a root.
type Held struct {
	Root roots.Root
	// Address is that of the word.
	Address uint64
	// Thread is the thread pointer of the thread whose thread-local variables the root has.
	Thread uint64
}

// Variable is a word of a global, thread-local or local variable. If no symbol covers the word, its Name is "".
type Variable struct {
	symbolize.Variable
	// Module is the path of the file, and Address that of the word in it, as nm shows it. If it is not known whose
	// variable it is, Module is "".
	Module  string
	Address uint64
	// Path leads to the member that has the word: ".cache[3].items". It ends at the first type of a standard library.
	// Type is that of the member.
	Path string
	// Function is the function that has a local variable, and Parameter reports whether it is a parameter.
	Function  string
	Parameter bool

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

// group has the words of the global or of the thread-local variables of a module.
type group struct {
	module      *target.Module
	threadLocal bool
}

// Variables names words of variables. The result has the order of the words. Words of a module whose file cannot be
// read, because it was deleted or replaced, have no names.
func (p *Process) Variables(ctx context.Context, words []Held) ([]Variable, error) {
	list := make([]Variable, len(words))
	of := map[group][]int{} // indices
	for i, w := range words {
		g := group{threadLocal: w.Root.Phase == roots.TLS}
		list[i] = Variable{Module: w.Root.Module, Address: w.Address, word: word(p.Memory, w.Address)}
		if g.threadLocal {
			g.module, list[i].Address = p.threadLocalAt(w.Thread, w.Address)
		} else if g.module = p.module(w); g.module != nil {
			list[i].Address -= g.module.Base
		}
		if g.module != nil {
			list[i].Module = g.module.Path
			of[g] = append(of[g], i)
		}
	}
	for _, m := range p.Modules {
		for _, g := range []group{{m, false}, {m, true}} {
			if err := p.nameIn(ctx, g, of[g], words, list); err != nil {
				return nil, err
			}
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

// nameIn names the variables with some indices, which are of one group.
func (p *Process) nameIn(ctx context.Context, g group, indices []int, words []Held, list []Variable) error {
	if len(indices) == 0 {
		return nil
	}
	addresses := make([]uint64, len(indices))
	for i, index := range indices {
		addresses[i] = list[index].Address
	}
	f := p.file(ctx, g.module)
	if f == nil {
		return ctx.Err()
	}
	lookUp := f.Variables
	if g.threadLocal {
		lookUp = f.ThreadLocals
	}
	variables, _ := lookUp(addresses) // an error means that there are fewer types
	for i, v := range variables {
		list[indices[i]].set(f, v, words[indices[i]].Address)
	}
	return ctx.Err()
}

// set sets what is known of a variable with a word at an address.
func (v *Variable) set(f *file, of symbolize.Variable, address uint64) {
	v.Variable = of
	v.Name = strings.ReplaceAll(v.Name, "[abi:cxx11]", "")
	v.Type = Short(v.Type)
	if of.Ref != 0 {
		f.left = maxWork
		if found, ok := f.findInVariable(of.Ref, of.Offset, address-of.Offset); ok {
			v.found, v.Path = found, found.path
			v.Type = f.name(found.shown)
		}
	}
	v.simplifyRust()
}

// simplifyRust removes what the macro thread_local! adds:
// app::LOCAL::{{constant}}::{{closure}}::__RUST_STD_INTERNAL_VAL.
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
		f = &file{Types: types, module: m}
	}
	p.files[m] = f
	return f
}

// renew allows for the work for another word.
func (p *Process) renew() {
	for _, f := range p.files {
		if f != nil {
			f.left = maxWork
		}
	}
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

// path returns where the file of a module is seen from here. Of a process that has called chroot, the kernel tells
// paths from the root directory of this process.
func (p *Process) path(m *target.Module) string {
	if link, err := os.Readlink(p.root()); err == nil && link != "/" && strings.HasPrefix(m.Path, link+"/") {
		return m.Path
	}
	return p.root() + m.Path
}

func (p *Process) root() string { return fmt.Sprintf("/proc/%d/root", p.PID) }

func (p *Process) options() symbolize.Options {
	o := p.Options
	o.Sysroot = p.root()
	return o
}

// Function returns the function of the program in which a thread is: the innermost one outside of the C library
// that has a name, or "". If others are inlined there, it is the one into which they are: the frame is its.
func (p *Process) Function(ctx context.Context, frames []unwind.Frame) string {
	for _, f := range frames {
		if f.Module == nil || f.Module == p.Libc {
			continue
		}
		// An error means that there may be no name.
		locations, _ := symbolize.ELF(ctx, p.path(f.Module), []uint64{f.Call - f.Module.Base}, p.options())
		for _, l := range locations {
			if len(l.Frames) > 0 {
				return l.Frames[len(l.Frames)-1].Function
			}
		}
	}
	return ""
}
