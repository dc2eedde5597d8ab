package symbolize

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// image is a module's symbols and debug information, from its own file or others.
type image struct {
	file    *elffile.File
	debug   *elffile.File // separate debug file, or nil
	alt     *elffile.File // dwz's supplementary file, or nil
	split   splitUnits
	symbols *elffile.SymbolTable
	stubs   *elffile.SymbolTable // PLT stubs; nil until an address of one is asked for
	dwarf   *dwarf.Data
	finder  finder
	// found is told of the frames of each address as soon as they are known, by several goroutines; nil for nobody.
	found func([]Frame)
}

// openImage finds what can name the file's addresses. The image is usable, and must be closed, even if an error
// is returned: damage to one part costs the names that this part has.
func openImage(file *elffile.File, f finder) (*image, error) {
	img := &image{file: file, symbols: &elffile.SymbolTable{}, finder: f}
	info := file
	if !hasDebug(file) {
		if img.debug = f.debugFile(file); img.debug != nil {
			info = img.debug
		}
	}
	table := file
	if !file.Has(".symtab") && img.debug != nil && img.debug.Has(".symtab") {
		table = img.debug
	}
	read := table.Symbols
	if f.o.exact {
		read = table.AllSymbols
	}
	var err error
	img.symbols, err = read()
	if hasDebug(info) {
		var fault error
		if img.dwarf, fault = img.openDWARF(info); err == nil {
			err = fault
		}
	}
	return img, err
}

func hasDebug(f *elffile.File) bool { return f.Has(".debug_info") || f.Has(".zdebug_info") }

func (img *image) openDWARF(info *elffile.File) (*dwarf.Data, error) {
	sections, err := debugSections(info, "")
	if err != nil {
		return nil, err
	}
	o := dwarf.Options{Split: img.splitUnit, RepeatDir: img.finder.o.exact, Workers: img.finder.o.workers(), Guard: info.Guard}
	if img.alt = img.finder.altFile(info); img.alt != nil {
		alt, err := debugSections(img.alt, "")
		if err != nil {
			return nil, err
		}
		o.Alt = dwarf.New(alt, dwarf.Options{})
	}
	return dwarf.New(sections, o), nil
}

// debugSections reads the sections that lookups need; suffix is ".dwo" for split units.
func debugSections(f *elffile.File, suffix string) (s dwarf.Sections, err error) {
	for _, part := range []struct {
		name string
		to   *[]byte
	}{
		{".debug_info", &s.Info}, {".debug_abbrev", &s.Abbrev}, {".debug_line", &s.Line}, {".debug_str", &s.Str},
		{".debug_line_str", &s.LineStr}, {".debug_str_offsets", &s.StrOffsets}, {".debug_addr", &s.Addr},
		{".debug_ranges", &s.Ranges}, {".debug_rnglists", &s.RngLists}, {".debug_aranges", &s.Aranges},
	} {
		if *part.to, err = f.Section(part.name + suffix); err != nil {
			return dwarf.Sections{}, err
		}
	}
	return s, nil
}

func (img *image) debugPath() string {
	if img.debug == nil {
		return ""
	}
	return img.debug.Path
}

// close releases all files but the module's own.
func (img *image) close() {
	for _, f := range append([]*elffile.File{img.debug, img.alt}, img.split.files...) {
		if f != nil {
			f.Close()
		}
	}
}

// name gives the locations, sorted by offset, their frames with linkage names.
// Function still holds the unqualified name, for want of a linkage name.
func (img *image) name(located []*Location) error {
	var err error
	if img.dwarf != nil {
		err = img.nameByDWARF(located)
	}
	for _, l := range located {
		if fault := img.nameBySymbol(l); err == nil {
			err = fault
		}
	}
	return err
}

func (img *image) nameByDWARF(located []*Location) error {
	calls, first := callAddresses(located)
	err := img.dwarf.Lookup(calls, func(call uint64, frames []dwarf.Frame) {
		if !img.finder.o.exact {
			img.qualify(call, frames)
		}
		for i := first[call]; i < len(located) && located[i].Offset-1 == call; i++ {
			l := located[i]
			l.Frames = convertFrames(frames)
			l.Source = SourceDWARF
			if img.found != nil {
				img.found(l.Frames)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(img.debugPath(), img.file.Path), err)
	}
	return img.split.err
}

// callAddresses is the addresses of calls, each once, and where in located, which is sorted by offset, the first of each is.
func callAddresses(located []*Location) (calls []uint64, first map[uint64]int) {
	calls, first = make([]uint64, 0, len(located)), make(map[uint64]int, len(located))
	for i, l := range located {
		call := l.Offset - 1
		if n := len(calls); n > 0 && calls[n-1] == call {
			continue
		}
		calls, first[call] = append(calls, call), i
	}
	return calls, first
}

// qualify completes the names of functions for which neither debug information nor the symbol table has a linkage
// name, static templates inlined somewhere for one. llvm-symbolizer prints them without their namespaces.
func (img *image) qualify(call uint64, frames []dwarf.Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Linkage != "" {
			continue
		}
		if !f.Inlined {
			if _, ok := img.symbols.Find(call, ""); ok {
				continue
			}
		}
		f.Name = f.QualifiedName()
	}
}

func convertFrames(frames []dwarf.Frame) []Frame {
	out := make([]Frame, len(frames))
	for i, f := range frames {
		out[i] = Frame{
			Function: f.Name, Linkage: f.Linkage, File: f.File,
			Line: f.Line, Column: f.Column, StartLine: f.StartLine, Inlined: f.Inlined,
		}
	}
	return out
}

// nameBySymbol gives the outermost function the name of the symbol table, which is more
// exact than that of debug information: it has clone suffixes (.isra.0, .cold) and the
// alias that was linked. Where debug information knows no function at all, the symbol is
// all there is.
func (img *image) nameBySymbol(l *Location) error {
	prefer := ""
	if n := len(l.Frames); n > 0 && !img.finder.o.exact {
		prefer = cmp.Or(l.Frames[n-1].Linkage, l.Frames[n-1].Function)
	}
	match, source, err := img.find(l.Offset-1, prefer)
	if match.Name == "" {
		if !img.finder.o.exact {
			l.dropNameless()
		}
		return err
	}
	if !l.Named() {
		l.Frames = []Frame{{}}
		l.Source = source
	}
	outermost := &l.Frames[len(l.Frames)-1]
	outermost.Linkage = match.Name
	outermost.File = cmp.Or(outermost.File, match.File)
	return nil
}

// find returns the symbol that holds an address, else the PLT stub, which the linker made without a symbol.
func (img *image) find(addr uint64, prefer string) (elffile.Match, Source, error) {
	if match, ok := img.symbols.Find(addr, prefer); ok {
		if match.Dynamic {
			return match, SourceExports, nil
		}
		return match, SourceSymbols, nil
	}
	if !img.file.InStubs(addr) {
		return elffile.Match{}, SourceNone, nil
	}
	var err error
	if img.stubs == nil {
		img.stubs, err = img.file.Stubs(img.symbols)
	}
	match, _ := img.stubs.Find(addr, "")
	return match, SourceExports, err
}

// dropNameless removes frames that have a position but no function: assembler
// code without a symbol. They would count as named.
func (l *Location) dropNameless() {
	if n := len(l.Frames); n > 0 && l.Frames[n-1].Linkage == "" && l.Frames[n-1].Function == "" {
		l.Frames, l.Source = nil, SourceNone
	}
}

// near is the last symbol before an address.
func (img *image) near(addr uint64) (string, uint64, bool) {
	name, distance, ok := img.symbols.Near(addr)
	return strings.TrimSpace(name), distance, ok
}
