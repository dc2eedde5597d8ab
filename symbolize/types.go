package symbolize

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

type (
	// Type describes a type of a program.
	Type = dwarf.Type
	// Member is a member of a type.
	Member = dwarf.Member
	// TypeRef locates a type in a file.
	TypeRef = dwarf.TypeRef
)

// Kinds of types.
const (
	KindUnknown  = dwarf.Unknown
	KindBase     = dwarf.Base
	KindPointer  = dwarf.Pointer
	KindArray    = dwarf.Array
	KindStruct   = dwarf.Struct
	KindUnion    = dwarf.Union
	KindAlias    = dwarf.Alias
	KindFunction = dwarf.Function
)

// Types has the variables and types of one file. It is not safe for concurrent use. The caller must call Close.
type Types struct {
	file        *elffile.File
	resolver    *resolver
	image       *image
	err         error
	types       map[TypeRef]*Type
	outlines    map[TypeRef]*Type
	definitions map[string]TypeRef
	mangled     map[string]string // names of classes that Class has returned
}

// OpenTypes opens a file. An error of its debug information is returned by Variables: other parts may be usable.
func OpenTypes(ctx context.Context, path string, o Options) (*Types, error) {
	file, err := o.source("").Open(path)
	if err != nil {
		return nil, err
	}
	t := &Types{
		file: file, resolver: newResolver(o, o.source(""), forData),
		types: map[TypeRef]*Type{}, outlines: map[TypeRef]*Type{},
		definitions: map[string]TypeRef{}, mangled: map[string]string{},
	}
	t.err = file.Guard(func() (err error) {
		t.image, err = t.resolver.openImage(ctx, file)
		return err
	})
	return t, nil
}

// Close closes the file.
func (t *Types) Close() error {
	t.resolver.names.finish(nil)
	if t.image != nil {
		t.image.close()
	}
	return t.file.Close()
}

// Variables names ELF virtual addresses in the data of the file. The variables are in the order of the addresses.
// The names are right even if there is an error, which may have caused a missing type.
func (t *Types) Variables(addrs []uint64) ([]Variable, error) {
	list := make([]Variable, len(addrs))
	if t.image == nil {
		return list, t.err
	}
	err := t.file.Guard(func() error {
		if t.image.dwarf == nil {
			return nameVariables(t, addrs, list, t.image.symbols, nil)
		}
		return nameVariables(t, addrs, list, t.image.symbols, t.image.dwarf.Variables)
	})
	return list, cmp.Or(t.err, err)
}

// ThreadLocals does the same for offsets in the PT_TLS segment.
func (t *Types) ThreadLocals(offsets []uint64) ([]Variable, error) {
	list := make([]Variable, len(offsets))
	if t.image == nil {
		return list, t.err
	}
	err := t.file.Guard(func() error {
		table, err := t.image.table.ThreadLocals()
		if t.image.dwarf == nil {
			return cmp.Or(err, nameVariables(t, offsets, list, table, nil))
		}
		return cmp.Or(err, nameVariables(t, offsets, list, table, t.image.dwarf.ThreadLocals))
	})
	return list, cmp.Or(t.err, err)
}

// query looks up variables in debug information.
type query func(addrs []uint64, found func(addr uint64, v dwarf.Variable)) error

// nameVariables sets the variables at some addresses. lookUp may be nil.
func nameVariables(t *Types, addrs []uint64, list []Variable, symbols *elffile.SymbolTable, lookUp query) error {
	at := map[uint64][]int{} // the indices of addresses by the start of the variable
	var starts []uint64
	for i, a := range addrs {
		match, ok := symbols.Find(a, "")
		if !ok {
			continue
		}
		list[i].Name, list[i].Offset = names.Demangle(match.Name, t.resolver.demangle), a-match.Start
		if at[match.Start] == nil {
			starts = append(starts, match.Start)
		}
		at[match.Start] = append(at[match.Start], i)
	}
	if lookUp == nil || len(starts) == 0 {
		return nil
	}
	slices.Sort(starts)
	return lookUp(starts, func(start uint64, v dwarf.Variable) {
		for _, i := range at[start] {
			list[i].Type, list[i].File, list[i].Line, list[i].Ref = v.Type, v.File, v.Line, v.Ref
		}
		delete(at, start) // the first one counts
	})
}

// Type returns a type. Declarations are resolved to definitions, if there is exactly one in the file.
func (t *Types) Type(ref TypeRef) *Type {
	if known := t.types[ref]; known != nil {
		return known
	}
	found := t.Outline(ref)
	if found.Declared {
		if definition, ok := t.Definition(found.Name); ok && definition != ref {
			found = t.Type(definition)
		}
	}
	t.types[ref] = found
	return found
}

// Outline is Type for those who need no members: a declaration remains one. The first definition that is looked for
// costs a pass over all types of the file.
func (t *Types) Outline(ref TypeRef) *Type {
	if known := t.outlines[ref]; known != nil {
		return known
	}
	found := &Type{}
	if t.image != nil && t.image.dwarf != nil {
		_ = t.file.Guard(func() error {
			*found = t.image.dwarf.Type(ref)
			return nil
		})
	}
	t.outlines[ref] = found
	return found
}

// Definition returns the structure with a name that [Type] or a demangler has written. ok is false if the file
// has none, or different ones.
func (t *Types) Definition(name string) (ref TypeRef, ok bool) {
	if t.image == nil || t.image.dwarf == nil || name == "" {
		return 0, false
	}
	if ref, ok = t.definitions[name]; ok {
		return ref, ref != 0
	}
	_ = t.file.Guard(func() error {
		ref, _ = t.image.dwarf.Definition(name, t.mangled[name])
		return nil
	})
	t.definitions[name] = ref
	return ref, ref != 0
}

// vtablePrefix is that of the symbol of a class's table of virtual functions.
const vtablePrefix = "_ZTV"

// Class returns the class of the objects whose first word is an ELF virtual address, if a symbol says that a table of
// virtual functions is there.
func (t *Types) Class(addr uint64) (name string, ok bool) {
	const header = 16 // the offset to the top of the object, and its type
	if t.image == nil || t.image.symbols == nil {
		return "", false
	}
	_ = t.file.Guard(func() error {
		match, found := t.image.symbols.Find(addr, "")
		if found && strings.HasPrefix(match.Name, vtablePrefix) && addr-match.Start >= header {
			name, ok = strings.CutPrefix(names.Demangle(match.Name, names.Full), "vtable for ")
			t.mangled[name] = strings.TrimPrefix(match.Name, vtablePrefix)
		}
		return nil
	})
	return name, ok
}
