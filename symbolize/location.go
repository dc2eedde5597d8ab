package symbolize

import (
	"fmt"
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// LocationID is an index into [Symbols.Locations].
type LocationID uint32

// ModuleID is an index into [Symbols.Modules], or NoModule.
type ModuleID int32

// NoModule is the module of addresses outside mapped files.
const NoModule ModuleID = -1

// Location describes one address in one address space.
type Location struct {
	Space   series.Space
	Address heapfile.Addr
	Module  ModuleID
	// Mapping is the index of the mapping in the AddressSpace, or -1 if there is none.
	Mapping int
	// Offset is the ELF virtual address of the return address in the module, as nm and
	// llvm-symbolizer use it.
	Offset uint64
	// Frames has the innermost function first. It is nil if the address has no name.
	Frames []Frame
	// Source is the origin of the name.
	Source Source
	// Reason is why there is no name.
	Reason Reason
	// Near is the last symbol before an address without a name: a hint.
	Near         string
	NearDistance uint64

	shown    bool   // the names are demangled
	language string // of a script

	code jit.Code // of a just-in-time compiler; zero for other code
}

// Named reports whether the location has at least one frame.
func (l *Location) Named() bool { return len(l.Frames) > 0 }

// Script reports whether the location is a line of a script that an interpreter runs, rather than
// code. The engine's own marks, such as [mmap], have no file.
func (l *Location) Script() bool { return l.Source == SourceFrames && l.Frames[0].File != "" }

// MadeUp reports whether the address and the offset are made up, because a pprof profile names its
// locations by function and line rather than by address (see [heapfile.Symbol]).
func (l *Location) MadeUp() bool { return l.Source == SourceProfile }

// FileName returns the last element of the path of a source file. The name of a Python package's main
// file says little, so that its directory is kept: json/__init__.py.
func FileName(file string) string {
	dir, base := path.Split(file)
	if base == "__init__.py" || base == "__main__.py" {
		return path.Join(path.Base(dir), base)
	}
	return path.Base(file)
}

// Language returns the language of a script, such as "python" or "perl", and "" for code, whose
// language is unknown.
func (l *Location) Language() string { return l.language }

// Source is the origin of a name.
type Source uint8

// Sources of names.
const (
	SourceNone     Source = iota
	SourceDWARF           // debug information
	SourceSymbols         // .symtab, including that of .gnu_debugdata
	SourceExports         // .dynsym: only exported functions
	SourcePerfMap         // a perf map
	SourceEmbedded        // the snapshot
	SourceJITDump         // a jitdump
	SourceFrames          // a frames file of heaplapse's engine
	SourceProfile         // a pprof profile, which is its own identity: see Location.MadeUp
)

var sourceNames = [...]string{"", "dwarf", "symtab", "dynsym", "perf-map", "embedded", "jitdump", "frames", "profile"}

// String returns the name in JSON. The names never change.
func (s Source) String() string { return sourceNames[s] }

// Reason is why an address has no name.
type Reason uint8

// Reasons for missing names.
const (
	ReasonNone        Reason = iota
	ReasonNull               // the address is 0: unwinding failed
	ReasonNoMapping          // no mapping contains the address
	ReasonAnonymous          // executable memory without a file: generated code
	ReasonNoPerfEntry        // the perf maps do not contain the address
	ReasonKernel             // [vdso], [vsyscall]
	ReasonMissing            // the file was not found
	ReasonUnreadable         // the file is not a usable ELF file
	ReasonStale              // the file is not the one that was mapped
	ReasonNoSegment          // no segment of the file contains the offset
	ReasonNoSymbols          // the file has no symbols
	ReasonNoFunction         // no function of the file contains the address: local symbols were stripped
	ReasonMalformed          // the debug information is malformed
)

var reasonNames = [...]string{
	"", "null-address", "no-mapping", "anonymous-memory", "not-in-perf-map", "kernel-page",
	"file-missing", "file-unreadable", "file-stale", "no-segment", "no-symbols", "no-function", "malformed",
}

// String returns the name in JSON, such as "file-missing". The names never change.
func (r Reason) String() string { return reasonNames[r] }

var reasonTexts = [...]string{
	"", "the unwinder returned a null address", "no mapping contains the address",
	"generated code without a perf map", "the perf map does not contain the address",
	"kernel-provided code", "the file was not found", "the file could not be read",
	"the file is not the one that was mapped", "no segment of the file contains the address",
	"the file has no symbols", "no symbol covers the address", "the debug information is damaged",
}

// Explain returns the reason as text.
func (r Reason) Explain() string { return reasonTexts[r] }

// Module is a mapped file.
type Module struct {
	// Path is the path in the mappings, without " (deleted)".
	Path    string
	Deleted bool
	// Link is the symbolic link by which the program was run, or "".
	Link string
	// BuildID is the recorded build ID or, if there is none, that of File.
	BuildID string
	// File is the file that was read for Path, and Debug the separate debug file. They are "" if
	// there is none.
	File, Debug string
	// Reason is why no address of the module has a name, or ReasonNone.
	Reason Reason
	// Err has details on Reason, or on debug information that could not be used.
	Err error
	// CallsChecked is the number of return addresses whose preceding code was read, CallsFound the
	// number of those that follow a call. Without a recorded build ID, this shows whether the file
	// was rebuilt.
	CallsChecked, CallsFound int
	// HasDebug and HasSymbols report whether the file or its debug file has debug information and
	// symbols.
	HasDebug, HasSymbols bool
}

// Name returns the last element of the path.
func (m *Module) Name() string { return path.Base(m.Path) }

// Shown returns the path to show: with the name by which the program was run, as redis-server is a
// link to redis-check-rdb, unless that of the file only adds a version, as python3.11 does to
// python3.
func (m *Module) Shown() string {
	if name := path.Base(m.Link); m.Link != "" && !strings.HasPrefix(m.Name(), name) {
		return path.Join(path.Dir(m.Path), name)
	}
	return m.Path
}

// Title returns the last element of Shown.
func (m *Module) Title() string { return path.Base(m.Shown()) }

// Suspect reports whether the file is probably another build than the one that was mapped.
func (m *Module) Suspect() bool {
	return m.CallsChecked >= 5 && m.CallsFound*100 < m.CallsChecked*95
}

// Symbols is the result of [Resolve]: the locations of all addresses of a series.
type Symbols struct {
	Modules   []Module
	Locations []Location
	// Warnings are problems that do not concern a module, such as an unreadable perf map.
	Warnings []error

	stacks []LocationID // the locations of all stacks, concatenated
	ends   []int        // by StackID: end of the stack in stacks
	sites  siteTable
}

// Stack returns the locations of a stack, leaf first. The caller must not modify it.
func (s *Symbols) Stack(id heapfile.StackID) []LocationID {
	begin := 0
	if id > 0 {
		begin = s.ends[id-1]
	}
	return s.stacks[begin:s.ends[id]:s.ends[id]]
}

// Module returns the module of a location, or nil if there is none.
func (s *Symbols) Module(l *Location) *Module {
	if l.Module == NoModule {
		return nil
	}
	return &s.Modules[l.Module]
}

// Names returns the texts that filters match: the label of the location, its module, and the
// functions and files of its frames.
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

// Label returns the text for a location without a name: libffi.so.8+0x7f7a, or the
// address if there is no module.
func (s *Symbols) Label(l *Location) string {
	if m := s.Module(l); m != nil {
		return fmt.Sprintf("%s+0x%x", m.Title(), l.Offset)
	}
	return fmt.Sprintf("0x%x", uint64(l.Address))
}
