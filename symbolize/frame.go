package symbolize

import (
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
	"github.com/heaplapse/heaplapse/symbolize/internal/symcache"
)

// Frame is one function of a stack.
type Frame struct {
	// Function is the name to show, demangled as selected by Options.Demangle. Module is the path of
	// the program or library; frames of a Location have it from [Symbols.Frame] only.
	Function, Module string
	// Linkage is the mangled name, or "" if there is none.
	Linkage string
	// File is the path in the debug information, or "" if it is unknown.
	File         string
	Line, Column int
	// StartLine is the line of the function's declaration.
	StartLine int
	// Inlined is true if the function was inlined into the function of the next frame.
	Inlined bool

	name *names.Entry // the pending name that Function is set from
}

// Frames returns the frames of a stack with their modules; see [Symbols.Frame].
func (s *Symbols) Frames(stack ...LocationID) (out []Frame) {
	for _, id := range stack {
		l := &s.Locations[id]
		for k := range max(1, len(l.Frames)) {
			out = append(out, s.Frame(l, k))
		}
	}
	return out
}

// Frame returns a frame of a location with its module, as [Module.Shown] names it. A location
// without a name has one frame, whose function is its label.
func (s *Symbols) Frame(l *Location, k int) (f Frame) {
	if l.Named() {
		f = l.Frames[k]
	} else {
		f.Function = s.Label(l)
	}
	if m := s.Module(l); m != nil {
		f.Module = m.Shown()
	}
	return f
}

func ofDWARF(a *dwarf.Answer) Frame {
	return Frame{
		Function: a.Name, Linkage: a.Linkage, File: a.File, Line: a.Line, Column: a.Column,
		StartLine: a.StartLine, Inlined: a.Inlined,
	}
}

func ofCache(f *symcache.StoredFrame) Frame {
	return Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		StartLine: f.StartLine, Inlined: f.Inlined,
	}
}

func (f *Frame) stored() symcache.StoredFrame {
	return symcache.StoredFrame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		StartLine: f.StartLine, Inlined: f.Inlined,
	}
}
