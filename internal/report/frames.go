package report

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// Frame is one function of a stack in JSON, the leaf first; an inlined callee precedes its caller.
type Frame struct {
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
	// Reason and Near are for addresses without a function.
	Reason string `json:"reason,omitempty"`
	Near   string `json:"near,omitempty"`
}

// frames lists a stack's frames.
func frames(s *symbolize.Symbols, stack []symbolize.LocationID) []Frame {
	out := []Frame{}
	for _, id := range stack {
		out = append(out, locationFrames(s, &s.Locations[id])...)
	}
	return out
}

func locationFrames(s *symbolize.Symbols, l *symbolize.Location) []Frame {
	base := Frame{Address: fmt.Sprintf("0x%x", uint64(l.Address))}
	if m := s.Module(l); m != nil {
		base.Module, base.Offset = m.Path, fmt.Sprintf("0x%x", l.Offset)
	}
	if !l.Named() {
		base.Reason, base.Near = l.Reason.String(), near(l)
		return []Frame{base}
	}
	out := make([]Frame, len(l.Frames))
	for i, f := range l.Frames {
		out[i] = base
		out[i].Function, out[i].File, out[i].Line, out[i].Column, out[i].Inlined = f.Function, f.File, f.Line, f.Column, f.Inlined
		if f.Linkage != f.Function {
			out[i].Linkage = f.Linkage
		}
	}
	return out
}

// near is the hint at an unnamed address, ffi_call+0x1a5.
func near(l *symbolize.Location) string {
	if l.Near == "" {
		return ""
	}
	return fmt.Sprintf("%s+0x%x", l.Near, l.NearDistance)
}

// name is what a frame is called in text: its function, or the place in its module with what is nearest.
func name(s *symbolize.Symbols, l *symbolize.Location, frame int) string {
	if frame >= 0 && frame < len(l.Frames) {
		return l.Frames[frame].Function
	}
	label := s.Label(l)
	if l.Near != "" {
		return fmt.Sprintf("%s (near %s)", label, l.Near)
	}
	return label
}

// place is the position of a frame in text: file:line, or the module.
func place(s *symbolize.Symbols, l *symbolize.Location, frame int) string {
	if frame >= 0 && frame < len(l.Frames) {
		if p := position(l.Frames[frame].File, l.Frames[frame].Line); p != "" {
			return p
		}
	}
	if m := s.Module(l); m != nil {
		return clean(m.Name())
	}
	return ""
}

// remedy says what would give an unnamed address its name.
func remedy(s *symbolize.Symbols, l *symbolize.Location) string {
	return clip(remedyText(s, l), longestRemedy)
}

// longestRemedy is in characters: names of files come from the input.
const longestRemedy = 400

func remedyText(s *symbolize.Symbols, l *symbolize.Location) string {
	m := s.Module(l)
	if m == nil {
		return remedyOutside(l.Reason)
	}
	switch l.Reason {
	case symbolize.ReasonMissing:
		return fmt.Sprintf("%s was not found here: copy it from the machine that ran the process and pass --sysroot (or --binary for the program)", m.Path)
	case symbolize.ReasonStale:
		return fmt.Sprintf("%s is not the build that ran: pass the right one with --sysroot or --binary", m.Path)
	case symbolize.ReasonNoSegment:
		return fmt.Sprintf("%s may be another file than the one that was mapped: pass the right one with --sysroot or --binary", m.Path)
	case symbolize.ReasonUnreadable, symbolize.ReasonMalformed:
		return fmt.Sprintf("%s cannot be used: %v", m.Path, m.Err)
	case symbolize.ReasonNoSymbols, symbolize.ReasonNoFunction:
		return fmt.Sprintf("install the debug symbols of %s (Debian: apt install the -dbgsym package of `%s`) or pass --debug-dir", m.Name(), packageQuery(m.Path))
	}
	return l.Reason.Explain()
}

func remedyOutside(r symbolize.Reason) string {
	switch r {
	case symbolize.ReasonAnonymous, symbolize.ReasonNoPerfEntry:
		return "generated code: run Node with --perf-basic-prof --interpreted-frames-native-stack, or Python 3.12+ with -X perf, and pass --perf-map"
	case symbolize.ReasonNull:
		return "the unwinder failed: try TCMALLOC_STACKTRACE_METHOD=libunwind"
	}
	return "no mapping holds the address: a library that was loaded and unloaded between two snapshots, or a broken stack"
}

// packageQuery is the command that asks Debian for the package of a file. Libraries are mapped from /usr/lib, where /lib leads
// to, while the packages of Debian 12 and before have many of them, libc.so.6 for one, in /lib.
func packageQuery(path string) string {
	return "dpkg -S '*" + strings.ReplaceAll(strings.TrimPrefix(path, "/usr"), "'", `'\''`) + "'"
}
