package symbolize

import (
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
	"github.com/heaplapse/heaplapse/symbolize/internal/symcache"
)

// Frame is one function of a stack. Fields that are not known are empty.
type Frame struct {
	// Function is the name to show, demangled as selected by Options.Demangle.
	Function string
	// Module is the path of the program or library, as [Module.Shown] returns it. The frames of a
	// Location have it from [Symbols.Frame] only, because the location has the module.
	Module string
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

// Script reports whether the frame looks like a line of a Python script. Code is in a module, and generated
// code has other source files. [Location.Script] is sure, and is used where there is a location.
func (f *Frame) Script() bool {
	return f.Module == "" && f.Line > 0 && (strings.HasSuffix(f.File, ".py") || strings.HasPrefix(f.File, "<"))
}

// Unnamed reports whether the frame has no function: then Function is its module+offset, or an
// address.
func (f *Frame) Unnamed() bool {
	if f.Module == "" {
		return f.File == "" && strings.HasPrefix(f.Function, "0x")
	}
	return strings.HasPrefix(f.Function, path.Base(f.Module)+"+")
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

// Frame returns a frame of a location with its module. A location without a name has one frame, whose
// function is the label of the location.
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

// convertFrames returns what a reader of debug information or of the cache found.
func convertFrames[T any](found []T, of func(*T) Frame) []Frame {
	out := make([]Frame, len(found))
	for i := range found {
		out[i] = of(&found[i])
	}
	return out
}

func ofDWARF(a *dwarf.Answer) Frame {
	return Frame{
		Function: a.Name, Linkage: a.Linkage, File: a.File, Line: a.Line, Column: a.Column,
		StartLine: a.StartLine, Inlined: a.Inlined,
	}
}

func ofMap(s jit.Symbol) Frame {
	return Frame{Function: s.Function, File: s.File, Line: s.Line, Column: s.Column, StartLine: s.StartLine}
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
