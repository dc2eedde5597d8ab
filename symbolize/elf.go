package symbolize

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// ELF names ELF virtual addresses of one file as llvm-symbolizer does: each address is looked up itself, not as a return
// address; aliases follow llvm-symbolizer's rule; an address between functions keeps its line; the address of a variable
// has its name. The locations are in the order of the addresses. They are usable even if an error is returned; without
// any, the result is nil.
func ELF(ctx context.Context, path string, addrs []uint64, o Options) ([]Location, error) {
	source := o.source("")
	file, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Type == elf.ET_REL {
		return nil, fmt.Errorf("%s: an object file, whose functions have no final addresses: use the program or library that was linked from it", path)
	}
	locations := make([]Location, len(addrs))
	located := make([]*Location, len(addrs))
	for i, a := range addrs {
		locations[i] = Location{Offset: a + 1} // as if a call ended there
		located[i] = &locations[i]
	}
	slices.SortFunc(located, compareOffset)
	cache, err := newResolver(o, source, forELF).nameELF(ctx, file, locations, located)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("resolving names: %w", ctx.Err())
	}
	_ = cache.save() // what cannot be saved is resolved again in the next run
	for i, a := range addrs {
		locations[i].Offset = a
	}
	return locations, err
}

// nameELF names the locations of one file; located is sorted by offset.
func (r *resolver) nameELF(ctx context.Context, file *elffile.File, locations []Location, located []*Location) (cache *moduleCache, err error) {
	err = file.Guard(func() (err error) {
		cache, err = r.name(ctx, file, &Module{}, located)
		return err
	})
	r.names.finish(locations)
	return cache, err
}

// style is who the answers are for. Its methods are all that depends on it.
type style uint8

const (
	forHeaps style = iota // people who read a heap profile
	forELF                //  callers of ELF, who get what llvm-symbolizer prints
)

// symbols reads the symbols of a file. llvm-symbolizer also names the addresses of variables.
func (s style) symbols(f *elffile.File) (*elffile.SymbolTable, error) {
	if s == forELF {
		return f.AllSymbols()
	}
	return f.Symbols()
}

// repeatsDir reports whether relative compilation directories are repeated: ./stdlib/./stdlib/abort.c.
func (s style) repeatsDir() bool { return s == forELF }

// qualifies reports whether a function without a linkage name is shown with its namespaces.
func (s style) qualifies() bool { return s == forHeaps }

// preferred returns the name that is chosen if several symbols have the address of a function: the one that the debug
// information has. llvm-symbolizer follows a rule of its own, which ignores the debug information.
func (s style) preferred(frames []Frame) string {
	if s == forELF || len(frames) == 0 {
		return ""
	}
	outermost := frames[len(frames)-1]
	return cmp.Or(outermost.Linkage, outermost.Function)
}

// keepsNameless reports whether frames with a position but no function are kept: assembler code without a symbol. In a
// heap profile they would count as named.
func (s style) keepsNameless() bool { return s == forELF }
