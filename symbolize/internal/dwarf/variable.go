package dwarf

import (
	"slices"
	"sync"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/location"
)

// Variable is a variable with a fixed address.
type Variable struct {
	// Type is written as in C, such as "char *[]", or "" if it is unknown.
	Type string
	// Ref is that of the type.
	Ref TypeRef
	// File and Line are where it is defined.
	File string
	Line int
}

// Variables calls found for each of the sorted, unique addresses at which a variable starts. If several do, the
// first one counts. Options.Variables must be set. Split units are not searched.
//
// The error is the first one that may have caused a missing answer.
func (d *Data) Variables(addrs []uint64, found func(addr uint64, v Variable)) error {
	return d.variablesAt(query{addrs: addrs}, found)
}

// ThreadLocals does the same for thread-local variables, which have offsets in the PT_TLS segment.
func (d *Data) ThreadLocals(offsets []uint64, found func(offset uint64, v Variable)) error {
	return d.variablesAt(query{offsets, true}, found)
}

// query tells which variables are wanted.
type query struct {
	addrs       []uint64 // sorted
	threadLocal bool
}

func (d *Data) variablesAt(q query, found func(addr uint64, v Variable)) error {
	d.renewBudget()
	var mu sync.Mutex
	units := slices.DeleteFunc(slices.Clone(d.units), func(u *unit) bool { return !u.isCode() })
	err := d.each(units, func(u *unit) error {
		return u.variables(q, func(addr uint64, v Variable) {
			mu.Lock()
			defer mu.Unlock()
			found(addr, v)
		})
	})
	if err == nil && len(d.Faults) > 0 {
		err = d.Faults[0]
	}
	return err
}

// variables reads all entries of the unit. Static variables of functions are within these.
func (u *unit) variables(q query, found func(uint64, Variable)) error {
	c := encoding.Cursor{Data: u.Entries, Off: u.root}
	for c.Off < u.end {
		start := c.Off
		code := c.Uleb()
		if code == 0 && !c.Failed {
			continue
		}
		a := u.abbrevs.Get(code)
		if a == nil || c.Failed {
			return formatError(".debug_info", start, "an entry without an abbreviation")
		}
		if a.Tag != encoding.TagVariable {
			a.Skip(&c, u.Shape)
		} else if addr, v, ok := u.variable(&c, a, q); ok {
			found(addr, v)
		}
		if c.Failed {
			return formatError(".debug_info", start, "an entry runs past the end of its unit")
		}
	}
	return nil
}

// variable reads a variable. ok is false unless it starts at one of the addresses.
func (u *unit) variable(c *encoding.Cursor, a *encoding.Abbrev, q query) (addr uint64, v Variable, ok bool) {
	var e encoding.Entry
	a.Read(c, u.Shape, &e)
	if c.Failed {
		return 0, v, false
	}
	addr, threadLocal, ok := u.fixedAddress(e.Location)
	if !ok || threadLocal != q.threadLocal {
		return 0, v, false
	}
	if _, ok = slices.BinarySearch(q.addrs, addr); !ok {
		return 0, v, false
	}
	return addr, u.describe(e).variable(), true
}

// description has the attributes of a variable, and the units whose entries have the type and the file.
type description struct {
	encoding.Entry
	typeHome, fileHome *unit
}

// variable returns the type of the variable and where it is defined.
func (d description) variable() (v Variable) {
	v.Ref = d.typeHome.typeRef(d.Type)
	v.Type = d.typeHome.data.typeName(v.Ref, 0)
	if d.fileHome.hasLine && d.DeclFile.Form != 0 {
		if table, err := d.fileHome.lineTable(); err == nil {
			v.File = table.FileName(d.DeclFile.U)
		}
	}
	v.Line = clampInt(d.DeclLine.U)
	return v
}

// describe adds the attributes of the declaration that an entry defines, and of which it may have none.
func (u *unit) describe(e encoding.Entry) description {
	d := description{e, u, u}
	home := u
	for range maxRefs {
		ref := e.Spec
		if ref.Form == 0 {
			ref = e.Origin
		}
		next, target, ok := home.follow(ref)
		if !ok {
			break
		}
		home, e = target, next
		if d.Type.Form == 0 {
			d.Type, d.typeHome = e.Type, home
		}
		if d.DeclFile.Form == 0 {
			d.DeclFile, d.fileHome = e.DeclFile, home
		}
		if d.DeclLine.Form == 0 {
			d.DeclLine = e.DeclLine
		}
	}
	return d
}

// follow returns the entry that a reference within the file leads to.
func (u *unit) follow(ref encoding.Value) (encoding.Entry, *unit, bool) {
	return u.data.entry(u.typeRef(ref))
}

// fixedAddress returns the address of a variable that has a fixed one, or the offset of a thread-local variable.
func (u *unit) fixedAddress(v encoding.Value) (addr uint64, threadLocal, ok bool) {
	return location.Fixed(u.Block(v), u.AddrSize, u.IndexedAddress)
}
