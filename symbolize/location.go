package symbolize

import (
	"fmt"
	"path"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// Frame is one function at an address.
type Frame struct {
	// Function is the name for people, demangled as asked for.
	Function string
	// Linkage is the mangled name, "" where there is none.
	Linkage string
	// File as the debug information has it; "" where it is unknown.
	File         string
	Line, Column int
	// StartLine is where the function is declared.
	StartLine int
	// Inlined: the function was inlined into that of the next frame.
	Inlined bool

	name *names.Entry // the pending name that Function is set from
}

// LocationID is an index into [Symbols.Locations].
type LocationID uint32

// ModuleID is an index into [Symbols.Modules]; NoModule stands for addresses outside any file.
type ModuleID int32

// NoModule is the module of addresses that belong to no mapped file.
const NoModule ModuleID = -1

// Location is what is known of one address in one address space.
type Location struct {
	Space   series.Space
	Address heapfile.Addr
	Module  ModuleID
	// Mapping is the index of the address's mapping in its AddressSpace, -1 for none.
	Mapping int
	// Offset is the ELF virtual address within the module (what nm and
	// llvm-symbolizer use), of the return address.
	Offset uint64
	// Frames are innermost first; nil where the address could not be named.
	Frames []Frame
	// Source says who named it.
	Source Source
	// Reason says why it could not be named.
	Reason Reason
	// Near is the last symbol before an unnamed address: a hint, not a name.
	Near         string
	NearDistance uint64

	shown bool // names are those for people already
}

// Named says whether the location has at least one function.
func (l *Location) Named() bool { return len(l.Frames) > 0 }

// Source is what a name comes from.
type Source uint8

// Sources of names.
const (
	SourceNone     Source = iota
	SourceDWARF           // debug information
	SourceSymbols         // .symtab, also that of .gnu_debugdata
	SourceExports         // .dynsym: only exported functions
	SourcePerfMap         // a just-in-time compiler's map
	SourceEmbedded        // the snapshot itself was symbolized
	SourceJITDump         // a just-in-time compiler's jitdump
)

var sourceNames = [...]string{"", "dwarf", "symtab", "dynsym", "perf-map", "embedded", "jitdump"}

// String is the stable name used in JSON.
func (s Source) String() string { return sourceNames[s] }

// Reason is why an address has no name.
type Reason uint8

// Reasons, from the address outward to the file.
const (
	ReasonNone        Reason = iota
	ReasonNull               // the address is 0: the unwinder failed
	ReasonNoMapping          // no mapping holds the address
	ReasonAnonymous          // executable memory without a file: generated code
	ReasonNoPerfEntry        // a perf map was read and does not know the address
	ReasonKernel             // [vdso], [vsyscall]
	ReasonMissing            // the file was not found
	ReasonUnreadable         // the file is not a usable ELF file
	ReasonStale              // the file is not the one that was mapped
	ReasonNoSegment          // no segment of the file holds the offset
	ReasonNoSymbols          // the file has no symbols at all
	ReasonNoFunction         // none of its functions holds the address: it is stripped of local symbols
	ReasonMalformed          // its debug information is damaged
)

var reasonNames = [...]string{
	"", "null-address", "no-mapping", "anonymous-memory", "not-in-perf-map", "kernel-page",
	"file-missing", "file-unreadable", "file-stale", "no-segment", "no-symbols", "no-function", "malformed",
}

// String is the stable name used in JSON, e.g. "file-missing".
func (r Reason) String() string { return reasonNames[r] }

var reasonTexts = [...]string{
	"", "the unwinder gave a null address", "no mapping holds the address",
	"generated code without a perf map", "the perf map does not know the address",
	"kernel-provided code", "the file was not found", "the file could not be read",
	"the file is not the one that was mapped", "no segment of the file holds the address",
	"the file has no symbols", "no symbol covers the address", "the debug information is damaged",
}

// Explain is the reason in words.
func (r Reason) Explain() string { return reasonTexts[r] }

// Module is a mapped file.
type Module struct {
	// Path as it was mapped, without " (deleted)".
	Path    string
	Deleted bool
	// BuildID is what was recorded with the snapshots, else what the file has.
	BuildID string
	// File is what was read instead of Path, "" if nothing was found; Debug is the
	// separate debug file, if one was used.
	File, Debug string
	// Reason is why nothing of the module could be named, ReasonNone otherwise.
	Reason Reason
	// Err tells more about Reason, or about debug information that was left out.
	Err error
	// CallsChecked counts return addresses whose preceding bytes were looked at,
	// CallsFound those where they end in a call: the test for a file
	// that was rebuilt since. Without a recorded build ID it is all there is.
	CallsChecked, CallsFound int
	// HasDebug, HasSymbols: what the file (or its debug file) brings.
	HasDebug, HasSymbols bool
}

// Name is the last element of the module's path.
func (m *Module) Name() string { return path.Base(m.Path) }

// Suspect says that the file is likely another build than the one that was mapped.
func (m *Module) Suspect() bool {
	return m.CallsChecked >= 5 && m.CallsFound*100 < m.CallsChecked*95
}

// Symbols is the result: every address of a series, resolved.
type Symbols struct {
	Modules   []Module
	Locations []Location
	// Warnings concern the search as a whole, such as a perf map that cannot be read.
	Warnings []error

	stacks []LocationID // all stacks' locations, one after the other
	ends   []int        // by StackID: end in stacks
	sites  siteTable
}

// Stack is the locations of a stack, leaf first. The caller must not change it.
func (s *Symbols) Stack(id heapfile.StackID) []LocationID {
	begin := 0
	if id > 0 {
		begin = s.ends[id-1]
	}
	return s.stacks[begin:s.ends[id]:s.ends[id]]
}

// Module returns the module of a location, nil for none.
func (s *Symbols) Module(l *Location) *Module {
	if l.Module == NoModule {
		return nil
	}
	return &s.Modules[l.Module]
}

// Names are what a location may be looked for by: its label, its module, and the functions and files of its frames.
func (s *Symbols) Names(l *Location) []string {
	names := []string{s.Label(l)}
	if m := s.Module(l); m != nil {
		names = append(names, m.Path)
	}
	for _, f := range l.Frames {
		names = append(names, f.Function, f.File)
	}
	return names
}

// Label is how an unnamed location is written: libffi.so.8+0x7f7a, or its address alone.
func (s *Symbols) Label(l *Location) string {
	if m := s.Module(l); m != nil {
		return fmt.Sprintf("%s+0x%x", m.Name(), l.Offset)
	}
	return fmt.Sprintf("0x%x", uint64(l.Address))
}
