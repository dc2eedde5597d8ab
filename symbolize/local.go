package symbolize

import (
	"cmp"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/location"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

type (
	// FrameValues has the values of a frame on which the locations of its variables depend.
	FrameValues = location.Frame
	// VariablePart is a part of a variable that is in memory.
	VariablePart = location.Part
)

// LocalVariable is a variable or parameter of a function while the function is at one address.
type LocalVariable struct {
	Variable
	// Function is the function that has the variable, demangled as selected by Options.Demangle. It may be inlined.
	Function string
	// Parameter reports whether it is a parameter.
	Parameter bool

	local dwarf.Local
}

// Parts returns the parts of the variable that are in memory in a frame.
func (v *LocalVariable) Parts(f FrameValues) []VariablePart { return v.local.Parts(f) }

// Locals returns the variables and parameters of the functions at an ELF virtual address, those of a caller before
// those of what is inlined into it. Left out are those whose block does not have the address, and those that are
// defined behind it.
func (t *Types) Locals(addr uint64) (list []LocalVariable, err error) {
	if t.image == nil || t.image.dwarf == nil {
		return nil, t.err
	}
	err = t.file.Guard(func() error {
		locals, err := t.image.dwarf.Locals(addr)
		for _, l := range locals {
			list = append(list, t.local(l))
		}
		return err
	})
	return list, err
}

func (t *Types) local(l dwarf.Local) LocalVariable {
	v := LocalVariable{
		Variable:  Variable{Name: l.Name, Type: l.Type, File: l.File, Line: l.Line, Ref: l.Ref},
		Parameter: l.Parameter, local: l,
	}
	v.Function = cmp.Or(names.Demangle(l.Linkage, t.resolver.demangle), l.QualifiedFunction())
	return v
}
