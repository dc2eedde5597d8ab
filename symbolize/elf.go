package symbolize

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// ELF names ELF virtual addresses of one file as llvm-symbolizer does. It looks up each address
// itself, not the call before it. Of several symbols at an address, it chooses the one that
// llvm-symbolizer chooses. An address between functions keeps its line, and the address of a
// variable has the name of the variable. The locations are in the order of the addresses. If there
// is an error, they may be incomplete, or nil.
func ELF(ctx context.Context, path string, addrs []uint64, o Options) ([]Location, error) {
	source := o.source("")
	file, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Type == elf.ET_REL {
		return nil, fmt.Errorf(
			"%s: an object file, whose functions have no final addresses: use the program or library that was linked from it",
			path,
		)
	}
	locations := make([]Location, len(addrs))
	located := make([]*Location, len(addrs))
	for i, a := range addrs {
		locations[i] = Location{Offset: a + 1} // the return address of a call that ends there
		located[i] = &locations[i]
	}
	slices.SortFunc(located, compareOffset)
	cache, err := newResolver(o, source, forELF).nameELF(ctx, file, locations, located)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("resolving names: %w", ctx.Err())
	}
	_ = cache.save() // an unsaved answer is resolved again in the next run
	for i, a := range addrs {
		locations[i].Offset = a
	}
	return locations, err
}

// BuildID returns the build ID of an ELF file, in hexadecimal; "" if it has none.
func BuildID(path string) (string, error) {
	file, err := new(Options).source("").Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return file.BuildID, nil
}

// nameELF names the locations of one file. located has them sorted by offset.
func (r *resolver) nameELF(
	ctx context.Context,
	file *elffile.File,
	locations []Location,
	located []*Location,
) (cache *moduleCache, err error) {
	err = file.Guard(func() (err error) {
		cache, err = r.name(ctx, file, &Module{}, located)
		return err
	})
	r.names.finish(locations)
	return cache, err
}

// style selects the rules for heap profiles or those of llvm-symbolizer. Its methods are the
// differences.
type style uint8

const (
	forHeaps style = iota // Resolve
	forELF                // ELF
	forData               // Variables
)

// symbols reads the symbols of a file. llvm-symbolizer also names the addresses of variables.
func (s style) symbols(f *elffile.File) (*elffile.SymbolTable, error) {
	if s == forHeaps {
		return f.Symbols()
	}
	return f.AllSymbols()
}

// repeatsDir reports whether relative compilation directories are repeated:
// ./stdlib/./stdlib/abort.c.
func (s style) repeatsDir() bool { return s == forELF }

// qualifies reports whether functions without a linkage name are shown with their namespaces.
func (s style) qualifies() bool { return s == forHeaps }

// preferred returns the name to choose if several symbols have the address of a function: the name
// in the debug information. llvm-symbolizer ignores the debug information.
func (s style) preferred(frames []Frame) string {
	if s == forELF || len(frames) == 0 {
		return ""
	}
	outermost := frames[len(frames)-1]
	return cmp.Or(outermost.Linkage, outermost.Function)
}

// keepsNameless reports whether frames with a position but no function are kept, as in assembler
// code without a symbol. In a heap profile they would count as named.
func (s style) keepsNameless() bool { return s == forELF }
