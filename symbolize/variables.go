package symbolize

import (
	"context"
	"fmt"
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
	// Ref is that of the type, for Types.
	Ref TypeRef
}

// Variables names ELF virtual addresses in the data of one file. The variables are in the order of the addresses.
// The names are right even if there is an error, which may have caused a missing type.
func Variables(ctx context.Context, path string, addrs []uint64, o Options) ([]Variable, error) {
	t, err := OpenTypes(ctx, path, o)
	if err != nil {
		return nil, err
	}
	list, err := t.Variables(addrs)
	_ = t.Close()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("resolving names: %w", ctx.Err())
	}
	return list, err
}
