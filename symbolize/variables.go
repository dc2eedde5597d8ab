package symbolize

import (
	"context"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// Variable is the variable at an address.
type Variable struct {
	// Name is that of the symbol, demangled as selected by Options.Demangle, or "" if no symbol covers the
	// address.
	Name string
	// Offset is the distance of the address from the start of the variable.
	Offset uint64
	// Type is written as in C, such as "char *[]", and File and Line are where the variable is defined. Without debug
	// information they are empty.
	Type, File string
	Line       int
}

// Variables names ELF virtual addresses in the data of one file. The variables are in the order of the addresses.
// The names are right even if there is an error, which may have caused a missing type.
func Variables(ctx context.Context, path string, addrs []uint64, o Options) ([]Variable, error) {
	file, err := o.source("").Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := newResolver(o, o.source(""), forData)
	defer r.names.finish(nil)
	list := make([]Variable, len(addrs))
	err = file.Guard(func() error { return r.nameVariables(ctx, file, addrs, list) })
	if ctx.Err() != nil {
		return nil, fmt.Errorf("resolving names: %w", ctx.Err())
	}
	return list, err
}

// nameVariables sets the variables at some addresses.
func (r *resolver) nameVariables(ctx context.Context, file *elffile.File, addrs []uint64, list []Variable) error {
	img, err := r.openImage(ctx, file)
	defer img.close()
	at := map[uint64][]int{} // the indices of addresses by the start of the variable
	var starts []uint64
	for i, a := range addrs {
		match, ok := img.symbols.Find(a, "")
		if !ok {
			continue
		}
		list[i].Name, list[i].Offset = names.Demangle(match.Name, r.demangle), a-match.Start
		if at[match.Start] == nil {
			starts = append(starts, match.Start)
		}
		at[match.Start] = append(at[match.Start], i)
	}
	if img.dwarf == nil || len(starts) == 0 {
		return err
	}
	slices.Sort(starts)
	fault := img.dwarf.Variables(starts, func(start uint64, v dwarf.Variable) {
		for _, i := range at[start] {
			list[i].Type, list[i].File, list[i].Line = v.Type, v.File, v.Line
		}
		delete(at, start) // the first one counts
	})
	if err == nil {
		err = fault
	}
	return err
}
