// Package recording holds what the readers of recordings with many snapshots in one file have in
// common. They turn each snapshot into a pprof profile, which package heapfile reads as it reads
// those of other programs.
package recording

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Recording is what a file says besides its snapshots.
type Recording struct {
	// Tool is the program that recorded; Version is "" if it is unknown.
	Tool, Version string
	// Command is the command line of the recorded program.
	Command []string
	// Timed is set if the times of the snapshots are known.
	Timed    bool
	Warnings []heapfile.Warning
}

// Snapshot is one snapshot of a recording.
type Snapshot struct {
	// At is the time since the program started; 0 if that is unknown.
	At time.Duration
	// Position is the time in the unit of the recording. It is used if At is unknown.
	Position int64
	// RSS is the resident set size of the process in bytes; nil if it is unknown.
	RSS *int64
	// Profile is valid until the next snapshot.
	Profile *profile.Profile
}

// Warnings collects the warnings about one file, one entry per kind.
type Warnings struct {
	File string
	List []heapfile.Warning
}

// Add counts a warning. The message of the first one of its kind is kept.
func (w *Warnings) Add(kind heapfile.WarningKind, line int, msg string) {
	for i := range w.List {
		if w.List[i].Kind == kind {
			w.List[i].Count++
			return
		}
	}
	w.List = append(w.List, heapfile.Warning{Kind: kind, File: w.File, Line: line, Count: 1, Msg: msg})
}

// Hidden is the function that stands for callers that the tool omitted.
const Hidden = "(folded samples)"

// Unnamed returns the name of a frame that has none: its module, if that is known, and its address.
func Unnamed(module string, address uint64) string {
	if module == "" {
		return fmt.Sprintf("0x%x", address)
	}
	return fmt.Sprintf("%s@0x%x", path.Base(module), address)
}

// FrameName is a function at an address. Function may be "".
type FrameName struct {
	Function, File string
	Line           int64
}

// Tables are the locations of the profiles of one recording, which share them.
type Tables struct {
	mappings  map[string]*profile.Mapping
	functions map[function]*profile.Function
	p         profile.Profile
}

type function struct{ name, file string }

// NewTables returns tables for profiles with these sample types: pairs of a name and a unit. tool
// is the program that recorded, with its version.
func NewTables(tool string, types ...string) *Tables {
	t := &Tables{mappings: map[string]*profile.Mapping{}, functions: map[function]*profile.Function{}}
	for i := 0; i+1 < len(types); i += 2 {
		t.p.SampleType = append(t.p.SampleType, &profile.ValueType{Type: types[i], Unit: types[i+1]})
	}
	t.p.PeriodType = &profile.ValueType{Type: "space", Unit: "bytes"}
	t.p.Period = 1
	t.p.Comments = []string{"by: " + tool}
	return t
}

// DepthLimit adds a comment with the number of frames that the tool keeps of a stack.
func (t *Tables) DepthLimit(frames int) {
	t.p.Comments = append(t.p.Comments, fmt.Sprintf("depth limit: %d", frames))
}

// Location adds a location: the call at an address of a module. The frames are innermost first. An
// address without a named frame is a virtual address of the module's ELF file, if that is known.
func (t *Tables) Location(address uint64, module string, frames []FrameName) *profile.Location {
	l := &profile.Location{ID: uint64(len(t.p.Location) + 1), Address: address, Mapping: t.mapping(module)}
	for _, f := range frames {
		if f.Function != "" {
			l.Line = append(l.Line, profile.Line{Function: t.function(f), Line: f.Line})
		}
	}
	t.p.Location = append(t.p.Location, l)
	return l
}

// mapping returns the mapping of a module: all addresses, because they are not those of a process.
func (t *Tables) mapping(module string) *profile.Mapping {
	if module == "" {
		return nil
	}
	m := t.mappings[module]
	if m == nil {
		m = &profile.Mapping{ID: uint64(len(t.p.Mapping) + 1), Limit: 1<<64 - 1, File: valid(module)}
		t.mappings[module] = m
		t.p.Mapping = append(t.p.Mapping, m)
	}
	return m
}

func (t *Tables) function(f FrameName) *profile.Function {
	key := function{f.Function, f.File}
	fn := t.functions[key]
	if fn == nil {
		name := valid(f.Function)
		fn = &profile.Function{
			ID: uint64(len(t.p.Function) + 1), Name: name, SystemName: name, Filename: valid(f.File),
		}
		t.functions[key] = fn
		t.p.Function = append(t.p.Function, fn)
	}
	return fn
}

// valid replaces invalid UTF-8, which readers of profiles reject.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Profile returns a profile with all locations and these samples. It is valid until the next call.
func (t *Tables) Profile(samples []*profile.Sample) *profile.Profile {
	t.p.Sample = samples
	return &t.p
}
