package symbolize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// image has the symbols and the debug information of a module, from its own file or from others.
type image struct {
	r       *resolver
	file    *elffile.File
	debug   *elffile.File // separate debug file, or nil
	alt     *elffile.File // supplementary file of dwz, or nil
	split   splitUnits
	table   *elffile.File // has the symbols: file or debug
	symbols *elffile.SymbolTable
	stubs   *elffile.SymbolTable // PLT stubs; nil until one is looked up
	dwarf   *dwarf.Data
	answers atomic.Int64
}

// openImage opens the files that name the addresses of a module. The image is usable and must be
// closed even if there is an error: a malformed part costs only the names in it.
func (r *resolver) openImage(ctx context.Context, file *elffile.File) (*image, error) {
	img := &image{r: r, file: file}
	info, table := file, file
	if !hasDebug(file) {
		if img.debug = r.search.DebugFile(ctx, file); img.debug != nil {
			info = img.debug
		}
	}
	if !file.Has(".symtab") && img.debug != nil && img.debug.Has(".symtab") {
		table = img.debug
	}
	img.table = table
	var err error
	img.symbols, err = r.style.symbols(table)
	if hasDebug(info) {
		var fault error
		if img.dwarf, fault = img.openDWARF(ctx, info); err == nil {
			err = fault
		}
	}
	return img, err
}

func hasDebug(f *elffile.File) bool { return f.Has(".debug_info") || f.Has(".zdebug_info") }

// canName reports whether a file, or another one with its debug information, names one of some locations, or may do so.
func (r *resolver) canName(ctx context.Context, file *elffile.File, located []*Location) bool {
	symbols, err := r.style.symbols(file)
	if hasDebug(file) || err != nil { // an error is reported where the names are read
		return true
	}
	if slices.ContainsFunc(located, func(l *Location) bool {
		_, ok := symbols.Find(l.Offset-1, "")
		return ok
	}) {
		return true
	}
	debug := r.search.DebugFile(ctx, file)
	if debug != nil {
		debug.Close()
	}
	return debug != nil
}

func (img *image) openDWARF(ctx context.Context, info *elffile.File) (*dwarf.Data, error) {
	sections, err := debugSections(info, "")
	if err != nil {
		return nil, err
	}
	if img.r.style == forData {
		err := readSections(info, "", []sectionPart{
			{".debug_types", &sections.Types}, {".debug_loc", &sections.Loc}, {".debug_loclists", &sections.LocLists},
		})
		if err != nil {
			return nil, err
		}
	}
	o := dwarf.Options{
		Split:     img.splitUnit,
		RepeatDir: img.r.style.repeatsDir(),
		Variables: img.r.style == forData,
		Workers:   img.r.workers,
		Guard:     info.Guard,
	}
	if img.alt = img.r.search.AltFile(ctx, info); img.alt != nil {
		alt, err := debugSections(img.alt, "")
		if err != nil {
			return nil, err
		}
		o.Alt = dwarf.New(alt, dwarf.Options{Variables: o.Variables})
	}
	return dwarf.New(sections, o), nil
}

// debugSections reads the sections that lookups need. The suffix is ".dwo" for split units.
func debugSections(f *elffile.File, suffix string) (s dwarf.Sections, err error) {
	err = readSections(f, suffix, []sectionPart{
		{".debug_info", &s.Info}, {".debug_abbrev", &s.Abbrev}, {".debug_line", &s.Line}, {".debug_str", &s.Str},
		{".debug_line_str", &s.LineStr}, {".debug_str_offsets", &s.StrOffsets}, {".debug_addr", &s.Addr},
		{".debug_ranges", &s.Ranges}, {".debug_rnglists", &s.RngLists}, {".debug_aranges", &s.Aranges},
	})
	if err != nil {
		return dwarf.Sections{}, err
	}
	return s, nil
}

// sectionPart is a section, and where its content goes.
type sectionPart struct {
	name string
	to   *[]byte
}

func readSections(f *elffile.File, suffix string, parts []sectionPart) (err error) {
	for _, part := range parts {
		if *part.to, err = f.Section(part.name + suffix); err != nil {
			return err
		}
	}
	return nil
}

func (img *image) debugPath() string {
	if img.debug == nil {
		return ""
	}
	return img.debug.Path
}

// close closes all files except the module's own.
func (img *image) close() {
	for _, f := range img.files()[1:] {
		f.Close()
	}
}

// files returns the open files, the module's own first.
func (img *image) files() []*elffile.File {
	all := append([]*elffile.File{img.file, img.debug, img.alt}, img.split.files...)
	return slices.DeleteFunc(all, func(f *elffile.File) bool { return f == nil })
}

// releaseEvery is the number of answers after which the memory of the files' pages is released.
// Debug strings are scattered over their section, so that a few thousand names read most of its
// pages.
const releaseEvery = 1 << 11

// found starts to demangle the names at an address. Several goroutines call it.
func (img *image) found(frames []Frame) {
	img.r.names.add(frames)
	if img.answers.Add(1)%releaseEvery == 0 {
		for _, f := range img.files() {
			f.Release()
		}
	}
}

// name sets the frames of locations, which are sorted by offset. Frames have linkage names. If a
// function has none, Function is its unqualified name.
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
	err := img.dwarf.Lookup(calls, func(call uint64, frames []dwarf.Answer) {
		if img.r.style.qualifies() {
			img.qualify(call, frames)
		}
		for i := first[call]; i < len(located) && located[i].Offset-1 == call; i++ {
			l := located[i]
			l.Frames = make([]Frame, len(frames))
			for k := range frames {
				l.Frames[k] = ofDWARF(&frames[k])
			}
			l.Source = SourceDWARF
			img.found(l.Frames)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(img.debugPath(), img.file.Path), err)
	}
	return img.split.err
}

// callAddresses returns the addresses of the calls, each once, and the index in located of the
// first location of each.
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

// qualify adds namespaces to functions without a linkage name, for example static templates that
// were inlined. llvm-symbolizer prints them without.
func (img *image) qualify(call uint64, frames []dwarf.Answer) {
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

// nameBySymbol sets the name of the outermost function to that of the symbol, which is more exact
// than the debug information: it has clone suffixes (.isra.0, .cold), and the alias that was
// linked. Without debug information, the symbol is the only frame.
func (img *image) nameBySymbol(l *Location) error {
	match, source, err := img.find(l.Offset-1, img.r.style.preferred(l.Frames))
	if match.Name == "" {
		if !img.r.style.keepsNameless() {
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

// find returns the symbol that contains an address. If there is none, it returns the PLT stub,
// which has no symbol of its own.
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

// dropNameless removes the frames if the outermost one has a position but no function.
func (l *Location) dropNameless() {
	if n := len(l.Frames); n > 0 && l.Frames[n-1].Linkage == "" && l.Frames[n-1].Function == "" {
		l.Frames, l.Source = nil, SourceNone
	}
}

// explain sets the reason of the locations without a name, and the nearest symbol as a hint.
func (img *image) explain(located []*Location, err error) {
	for _, l := range located {
		if l.Named() {
			continue
		}
		switch {
		case err != nil:
			l.Reason = ReasonMalformed
		case img.dwarf == nil && img.symbols.Len() == 0:
			l.Reason = ReasonNoSymbols
		default:
			l.Reason = ReasonNoFunction
		}
		name, distance, _ := img.symbols.Near(l.Offset - 1)
		l.Near, l.NearDistance = strings.TrimSpace(name), distance
	}
}
