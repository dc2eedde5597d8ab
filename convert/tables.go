package convert

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// tables holds what all profiles of a series share: sample types, mappings, locations and
// functions, and the location IDs of each stack. It is encoded once. The bytes of a profile are
// these, followed by those of its own samples.
type tables struct {
	encoded []byte   // a profile without samples
	strings int      // number of entries in its string table
	stacks  [][]byte // encoded location IDs, by StackID
	folded  []byte   // encoded location ID of the sample that replaces folded ones
	packer  packer
	types   []SampleType
}

// newTables builds the tables of all locations and stacks of a series.
func newTables(c *Converter) (*tables, error) {
	b := newBuilder(c)
	locations := make([]*profile.Location, len(c.symbols.Locations))
	for id := range c.symbols.Locations {
		locations[id] = b.location(symbolize.LocationID(id))
	}
	t := &tables{types: c.types}
	trimmer := newTrimmer(c)
	for id := range c.series.Stacks.Len() {
		var ids []byte
		for _, l := range trimmer.trim(c.symbols.Stack(heapfile.StackID(id))) {
			ids = binary.AppendUvarint(ids, locations[l].ID)
		}
		t.stacks = append(t.stacks, ids)
	}
	if c.o.MaxSamples > 0 {
		l := b.newLocation(0)
		l.Line = []profile.Line{{Function: b.function(symbolize.Frame{Function: foldedName})}}
		t.folded = binary.AppendUvarint(nil, l.ID)
	}
	var out bytes.Buffer
	if err := b.p.WriteUncompressed(&out); err != nil {
		return nil, err
	}
	t.encoded = out.Bytes()
	var err error
	t.strings, err = countStrings(t.encoded)
	return t, err
}

// trimmer removes the recording allocator's own frames from the leaf of stacks.
type trimmer struct {
	keep   bool
	blamer *class.Blamer
}

func newTrimmer(c *Converter) trimmer {
	return trimmer{c.o.KeepAllocatorFrames, class.NewBlamer(c.symbols, nil)}
}

func (t trimmer) trim(stack []symbolize.LocationID) []symbolize.LocationID {
	if t.keep {
		return stack
	}
	for len(stack) > 1 && t.isProfiler(stack[0]) {
		stack = stack[1:]
	}
	return stack
}

func (t trimmer) isProfiler(id symbolize.LocationID) bool {
	for _, c := range t.blamer.Classes(id) {
		if c != class.Profiler {
			return false
		}
	}
	return true
}

// builder collects mappings, locations and functions. It assigns IDs from 1, in order of first use.
type builder struct {
	c         *Converter
	p         *profile.Profile
	mappings  map[mappingKey]*profile.Mapping
	functions map[functionKey]*profile.Function
}

// mappingKey identifies a mapping. One range may belong to different files in different process
// images.
type mappingKey struct {
	image int
	m     heapfile.Mapping
}

type functionKey struct {
	name, system, file string
	start              int
}

func newBuilder(c *Converter) *builder {
	b := &builder{
		c: c,
		p: &profile.Profile{
			PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
			DefaultSampleType: string(c.types[len(c.types)-1]),
		},
		mappings:  map[mappingKey]*profile.Mapping{},
		functions: map[functionKey]*profile.Function{},
	}
	units := map[SampleType]string{
		AllocObjects: "count", AllocSpace: "bytes", InuseObjects: "count", InuseSpace: "bytes", goroutine: "count",
	}
	for _, t := range c.types {
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: string(t), Unit: units[t]})
	}
	b.mainMapping()
	return b
}

// mainMapping adds a mapping of the main program. It must be the first one: pprof takes the first
// mapping for that of the main program.
func (b *builder) mainMapping() {
	path := symbolize.MainProgram(b.c.series)
	for _, sp := range b.c.series.Spaces {
		for _, m := range sp.Mappings {
			if path != "" && m.Path == path {
				b.mapping(mappingKey{sp.Image, m})
				return
			}
		}
	}
}

// newLocation adds a location without lines.
func (b *builder) newLocation(address uint64) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Address: address}
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *builder) location(id symbolize.LocationID) *profile.Location {
	from := &b.c.symbols.Locations[id]
	m, ok := b.mappingOf(from)
	l := b.newLocation(callAddress(from, m))
	if ok {
		l.Mapping = b.mapping(mappingKey{b.c.series.Spaces[from.Space].Image, m})
		setFlags(l.Mapping, from)
	}
	if !from.Named() {
		// pprof's flame graph omits locations without a function, and its table shows only their
		// module. The mapping's flags stay false, so a symbolizer can still resolve the address.
		label := symbolize.Frame{Function: b.c.symbols.Label(from)}
		l.Line = []profile.Line{{Function: b.function(label)}}
	}
	for _, f := range from.Frames {
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line), Column: int64(f.Column)})
	}
	return l
}

// callAddress returns the address that pprof and other symbolizers look up. It lies within the call
// instruction; the return address lies after it.
func callAddress(l *symbolize.Location, m heapfile.Mapping) uint64 {
	switch {
	case l.Address == 0 || l.MadeUp():
		return 0
	case m.Virtual:
		return l.Offset - 1
	}
	return uint64(l.Address) - 1
}

// mappingOf returns the mapping of a location. If the address of the location is made up, only the
// file of the mapping is known. In a Go profile, that is the program.
func (b *builder) mappingOf(l *symbolize.Location) (m heapfile.Mapping, ok bool) {
	module := b.c.symbols.Module(l)
	switch {
	case module == nil:
		return heapfile.Mapping{}, false
	case !l.MadeUp():
		return b.c.series.Spaces[l.Space].Mappings[l.Mapping], true
	}
	for _, m := range b.c.series.Spaces[l.Space].Mappings {
		if m.Path == module.Path && m.BuildID == module.BuildID {
			return m, true
		}
	}
	return heapfile.Mapping{Path: module.Path, BuildID: module.BuildID}, true
}

// setFlags sets the flags of a mapping (HasFunctions and others) according to one of its locations.
func setFlags(m *profile.Mapping, l *symbolize.Location) {
	for _, f := range l.Frames {
		m.HasFunctions = true
		m.HasFilenames = m.HasFilenames || f.File != ""
		m.HasLineNumbers = m.HasLineNumbers || f.Line != 0
		m.HasInlineFrames = m.HasInlineFrames || l.Source == symbolize.SourceDWARF
	}
}

func (b *builder) mapping(key mappingKey) *profile.Mapping {
	if m, ok := b.mappings[key]; ok {
		return m
	}
	m := &profile.Mapping{
		ID:    uint64(len(b.p.Mapping) + 1),
		Start: uint64(key.m.Start), Limit: uint64(key.m.Limit), Offset: uint64(key.m.Offset),
		File: utf8(key.m.Path), BuildID: utf8(cmp.Or(key.m.BuildID, b.buildID(key.m.Path))),
	}
	if key.m.Virtual { // the range is made up; see heapfile.Mapping
		m.Start, m.Limit = 0, math.MaxUint64
	}
	b.mappings[key] = m
	b.p.Mapping = append(b.p.Mapping, m)
	return m
}

func (b *builder) buildID(path string) string {
	for i := range b.c.symbols.Modules {
		if b.c.symbols.Modules[i].Path == path {
			return b.c.symbols.Modules[i].BuildID
		}
	}
	return ""
}

func (b *builder) function(f symbolize.Frame) *profile.Function {
	key := functionKey{utf8(f.Function), utf8(cmp.Or(f.Linkage, f.Function)), utf8(f.File), f.StartLine}
	if fn, ok := b.functions[key]; ok {
		return fn
	}
	fn := &profile.Function{
		ID: uint64(len(b.p.Function) + 1), Name: key.name, SystemName: key.system,
		Filename: key.file, StartLine: int64(key.start),
	}
	b.functions[key] = fn
	b.p.Function = append(b.p.Function, fn)
	return fn
}

// utf8 replaces invalid UTF-8, which profile stores reject.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// countStrings returns the number of entries in the string table of an encoded profile.
func countStrings(b []byte) (n int, err error) {
	malformed := errors.New("convert: malformed profile")
	for len(b) > 0 {
		key, size := binary.Uvarint(b)
		if size <= 0 {
			return 0, malformed
		}
		b = b[size:]
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return 0, malformed
		}
		b = b[size:]
		switch key & 7 {
		case wireVarint:
		case wireBytes:
			if v > uint64(len(b)) {
				return 0, malformed
			}
			b = b[v:]
		default:
			return 0, malformed
		}
		if key>>3 == fieldString {
			n++
		}
	}
	return n, nil
}
