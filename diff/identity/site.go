package identity

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Site describes an allocation site by what another process or build may have in common with it.
type Site struct {
	// Place is the stack as build IDs and offsets; "" if one of the files has no build ID.
	Place string
	// Offsets is the stack as files and offsets if some files have no build ID but seem to be the
	// same on both sides; "" if other files are involved.
	Offsets string
	// Frames are the normalised names of the functions, leaf first, without allocators. A
	// function that calls itself is there once.
	Frames []string
	// Blame is the index in Frames of the function that the allocation is attributed to, -1 if
	// there is none.
	Blame int
}

// Function returns the function that the site is attributed to, without template arguments, "" for
// none.
func (s Site) Function() string {
	if s.Blame < 0 {
		return ""
	}
	return Untemplated(s.Frames[s.Blame])
}

// Caller returns the function that calls Function, without template arguments, "" for none.
func (s Site) Caller() string {
	if s.Blame < 0 || s.Blame+1 >= len(s.Frames) {
		return ""
	}
	return Untemplated(s.Frames[s.Blame+1])
}

// Namer describes the stacks of one series as Sites. It is not safe for concurrent use.
type Namer struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	normal  Names
	names   map[symbolize.LocationID][]string
	places  map[symbolize.LocationID]place
	// Same are the files that both sides have, from [SameFiles]: addresses without a name in them
	// are recognised by their offsets. May be nil.
	Same map[symbolize.ModuleID]bool
	// SameProcess reports whether both sides are of one process image, where files without a build
	// ID are the same, too.
	SameProcess bool
}

// NewNamer returns a Namer. Its fields may be set before it is used.
func NewNamer(s *symbolize.Symbols, blamer *class.Blamer) *Namer {
	return &Namer{
		symbols: s, blamer: blamer,
		names: map[symbolize.LocationID][]string{}, places: map[symbolize.LocationID]place{},
	}
}

// Site returns the description of a stack.
func (n *Namer) Site(id heapfile.StackID) Site {
	stack := n.symbols.Stack(id)
	out := Site{Blame: -1}
	out.Place, out.Offsets = n.join(stack)
	ref, blamed := n.blamer.Blame(stack)
	for i, l := range stack {
		classes := n.blamer.Classes(l)
		for k, name := range n.frames(l) {
			toBlame := blamed && i == ref.Position && k == max(ref.Frame, 0)
			if c := classes[k]; !toBlame && (c == class.Allocator || c == class.Profiler) {
				continue
			}
			if last := len(out.Frames) - 1; last < 0 || out.Frames[last] != name {
				out.Frames = append(out.Frames, name)
			}
			if toBlame {
				out.Blame = len(out.Frames) - 1
			}
		}
	}
	if !slices.ContainsFunc(out.Frames, func(f string) bool { return f != nowhere }) {
		out.Frames, out.Blame = nil, -1 // another process has nothing in common with it
	}
	return out
}

// nowhere is the name of an address outside any file.
const nowhere = "?"

// frames are the normalised names at a location. A location without a name is called by its module.
func (n *Namer) frames(id symbolize.LocationID) []string {
	if names, ok := n.names[id]; ok {
		return names
	}
	l := &n.symbols.Locations[id]
	var names []string
	for _, f := range l.Frames {
		names = append(names, n.frameName(l, f))
	}
	if len(names) == 0 {
		names = []string{n.unnamed(l)}
	}
	n.names[id] = names
	return names
}

// frameName is the normalised name of a function. That of a script includes the file: functions of
// scripts have short names.
func (n *Namer) frameName(l *symbolize.Location, f symbolize.Frame) string {
	if l.Script() {
		return symbolize.FileName(f.File) + ":" + f.Function
	}
	return n.normal.Normalize(f.Function)
}

func (n *Namer) unnamed(l *symbolize.Location) string {
	m := n.symbols.Module(l)
	switch {
	case m == nil:
		return nowhere
	case n.Same[l.Module]:
		return fmt.Sprintf("%s+%x", m.Name(), l.Offset)
	}
	return m.Name() + "+?"
}

// place is where an address is, in a form that another process may have in common.
type place struct {
	text string // "" if there is no such form
	sure bool   // it has a build ID, or a name
}

// join joins the places of a stack. It returns them as sure if all of them are, otherwise as all;
// both are "" if an address has no place.
func (n *Namer) join(stack []symbolize.LocationID) (sure, all string) {
	var b strings.Builder
	certain := true
	for _, id := range stack {
		p, ok := n.places[id]
		if !ok {
			p = n.locate(&n.symbols.Locations[id])
			n.places[id] = p
		}
		if p.text == "" {
			return "", ""
		}
		certain = certain && p.sure
		b.WriteString(p.text)
	}
	if certain {
		return b.String(), ""
	}
	return "", b.String()
}

// locate returns a location's file and offset, its line if it is one of a script, or its name if it
// is generated code.
func (n *Namer) locate(l *symbolize.Location) place {
	m := n.symbols.Module(l)
	switch {
	case m != nil && m.BuildID != "":
		return place{fmt.Sprintf("%s+%x\x00", m.BuildID, l.Offset), true}
	case m != nil && (n.SameProcess || n.Same[l.Module]):
		return place{fmt.Sprintf("%s+%x\x00", hex.EncodeToString([]byte(m.Path)), l.Offset), n.SameProcess}
	case m != nil:
		return place{}
	case l.Script():
		return place{fmt.Sprintf("script %s:%d\x00", n.frameName(l, l.Frames[0]), l.Frames[0].Line), true}
	case l.Named():
		return place{"jit " + n.normal.Normalize(l.Frames[0].Function) + "\x00", true}
	case n.SameProcess || l.Address == 0:
		return place{fmt.Sprintf("%x\x00", uint64(l.Address)), true}
	}
	return place{}
}
