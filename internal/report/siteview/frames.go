package siteview

import (
	"fmt"

	"github.com/heaplapse/heaplapse/symbolize"
)

// FunctionJSON is a frame of a baseline, or of a report of another tool, in JSON.
type FunctionJSON struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// FunctionOf is a frame in JSON.
func FunctionOf(f symbolize.Frame) FunctionJSON {
	return FunctionJSON{f.Function, f.Module, f.File, f.Line}
}

// FunctionsJSON are the frames of a stack in JSON, the leaf first.
func FunctionsJSON(frames []symbolize.Frame) []FunctionJSON {
	out := make([]FunctionJSON, len(frames))
	for i, f := range frames {
		out[i] = FunctionOf(f)
	}
	return out
}

// FrameJSON is one function of a stack in JSON, the leaf first; an inlined callee precedes its
// caller.
type FrameJSON struct {
	Address  string `json:"address"`
	Module   string `json:"module"`
	Offset   string `json:"offset"`
	Function string `json:"function"`
	// Linkage is the mangled name, if it differs.
	Linkage string `json:"linkage,omitempty"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"`
	Inlined bool   `json:"inlined"`
	// Language is that of a script, "python", and empty for code.
	Language string `json:"language,omitempty"`
	// Reason and Near are for addresses without a function.
	Reason string `json:"reason,omitempty"`
	Near   string `json:"near,omitempty"`
}

// locationFrames are the frames of an address, innermost first.
func locationFrames(s *symbolize.Symbols, l *symbolize.Location) []FrameJSON {
	base := FrameJSON{Language: l.Language()}
	if m := s.Module(l); m != nil {
		base.Module = m.Path
	}
	if !l.MadeUp() {
		base.Address = fmt.Sprintf("0x%x", uint64(l.Address))
		if base.Module != "" {
			base.Offset = fmt.Sprintf("0x%x", l.Offset)
		}
	}
	if !l.Named() {
		base.Reason, base.Near = l.Reason.String(), Near(l)
		return []FrameJSON{base}
	}
	out := make([]FrameJSON, len(l.Frames))
	for i, f := range l.Frames {
		out[i] = base
		out[i].Function, out[i].File, out[i].Inlined = f.Function, f.File, f.Inlined
		out[i].Line, out[i].Column = f.Line, f.Column
		if f.Linkage != f.Function {
			out[i].Linkage = f.Linkage
		}
	}
	return out
}

// Near is the nearest symbol to an address without a function, as in ffi_call+0x1a5; it may be
// empty.
func Near(l *symbolize.Location) string {
	if l.Near == "" {
		return ""
	}
	return fmt.Sprintf("%s+0x%x", l.Near, l.NearDistance)
}

// FrameName is the function of a frame of l. A location without one is named by its module and
// offset and the nearest symbol, if one is near.
func FrameName(s *symbolize.Symbols, l *symbolize.Location, frame int) string {
	if frame >= 0 && frame < len(l.Frames) {
		return l.Frames[frame].Function
	}
	near := Near(l)
	if near != "" {
		near = "near " + near
	}
	return hinted(s.Label(l), near)
}

// hinted is the label of a location without a name, with a hint that may be empty.
func hinted(label, hint string) string {
	if hint == "" {
		return label
	}
	return label + " (" + hint + ")"
}
