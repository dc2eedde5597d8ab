package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Converter makes the profiles of one series.
type Converter struct {
	// Tool names the producer in the profile's comments, e.g. "heaplapse 1.0".
	Tool string

	series   *heapfile.Series
	symbols  *symbolize.Symbols
	hasAlloc bool
	main     mappingKey
}

// New makes a Converter.
func New(series *heapfile.Series, symbols *symbolize.Symbols) *Converter {
	c := &Converter{series: series, symbols: symbols, hasAlloc: true}
	for _, h := range series.Heads {
		c.hasAlloc = c.hasAlloc && h.HasAlloc
	}
	c.main = c.mainMapping()
	return c
}

// HasAlloc says whether the profiles have all four sample types, or only the in-use ones because
// some snapshot of the series has no cumulative counts.
func (c *Converter) HasAlloc() bool { return c.hasAlloc }

// Profile converts one snapshot of the series.
func (c *Converter) Profile(s *heapfile.Snapshot) *profile.Profile {
	b := builder{
		c: c,
		p: &profile.Profile{
			PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
			Period:            s.Period,
			DefaultSampleType: "inuse_space",
			Comments:          c.comments(s),
		},
		mappings:  map[mappingKey]*profile.Mapping{},
		locations: map[symbolize.LocationID]*profile.Location{},
		functions: map[functionKey]*profile.Function{},
	}
	if c.hasAlloc {
		b.p.SampleType = append(b.p.SampleType,
			&profile.ValueType{Type: "alloc_objects", Unit: "count"}, &profile.ValueType{Type: "alloc_space", Unit: "bytes"})
	}
	b.p.SampleType = append(b.p.SampleType,
		&profile.ValueType{Type: "inuse_objects", Unit: "count"}, &profile.ValueType{Type: "inuse_space", Unit: "bytes"})
	if c.series.Clock.Source.IsTime() {
		b.p.TimeNanos = c.series.Clock.Times[s.Index].UnixNano()
	}
	if c.main.m.Path != "" {
		b.mapping(c.main) // pprof takes the first mapping for the program
	}
	b.samples(s)
	return b.p
}

// comments say where the profile comes from and what it lacks.
func (c *Converter) comments(s *heapfile.Snapshot) []string {
	out := []string{
		"converted from " + s.Path,
		"format: " + s.Format.String(),
	}
	if c.Tool != "" {
		out = append(out, "by: "+c.Tool)
	}
	if !c.hasAlloc {
		out = append(out, "no alloc_objects and alloc_space: the snapshots have no cumulative counts")
	}
	for _, w := range s.Warnings {
		out = append(out, "warning: "+w.Error())
	}
	return out
}

// mappingKey tells mappings apart: the same range may belong to different files over time.
type mappingKey struct {
	space heapfile.Space
	m     heapfile.Mapping
}

type functionKey struct {
	name, system, file string
	start              int
}

// builder collects what one profile refers to. IDs are given in order of first use, from 1.
type builder struct {
	c         *Converter
	p         *profile.Profile
	mappings  map[mappingKey]*profile.Mapping
	locations map[symbolize.LocationID]*profile.Location
	functions map[functionKey]*profile.Function
}

// samples sums the rows' estimates by stack: a stack may stand on many rows.
func (b *builder) samples(s *heapfile.Snapshot) {
	byStack := map[heapfile.StackID]*profile.Sample{}
	for _, row := range s.Samples {
		e := row.Estimate(s.Period)
		sample := byStack[row.Stack]
		if sample == nil {
			sample = &profile.Sample{Location: b.stack(row.Stack), Value: make([]int64, len(b.p.SampleType))}
			byStack[row.Stack] = sample
			b.p.Sample = append(b.p.Sample, sample)
		}
		values := []int64{e.AllocObjects, e.AllocBytes, e.InuseObjects, e.InuseBytes}
		for i, v := range values[len(values)-len(sample.Value):] {
			sample.Value[i] += v
		}
	}
}

func (b *builder) stack(id heapfile.StackID) []*profile.Location {
	ids := b.c.symbols.Stack(id)
	out := make([]*profile.Location, len(ids))
	for i, l := range ids {
		out[i] = b.location(l)
	}
	return out
}

func (b *builder) location(id symbolize.LocationID) *profile.Location {
	if l, ok := b.locations[id]; ok {
		return l
	}
	from := &b.c.symbols.Locations[id]
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Address: callAddress(from.Address)}
	b.locations[id] = l
	b.p.Location = append(b.p.Location, l)
	if from.Module != symbolize.NoModule {
		l.Mapping = b.mapping(mappingKey{from.Space, b.c.series.Spaces[from.Space].Mappings[from.Mapping]})
		note(l.Mapping, from)
	}
	for _, f := range from.Frames {
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line), Column: int64(f.Column)})
	}
	return l
}

// callAddress is where pprof and other symbolizers look up: within the call, not behind it.
func callAddress(a heapfile.Addr) uint64 {
	if a == 0 {
		return 0
	}
	return uint64(a) - 1
}

// note sets the mapping's flags for what its locations really have.
func note(m *profile.Mapping, l *symbolize.Location) {
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
		File: key.m.Path, BuildID: cmp.Or(key.m.BuildID, b.c.buildID(key.m.Path)),
	}
	b.mappings[key] = m
	b.p.Mapping = append(b.p.Mapping, m)
	return m
}

func (c *Converter) buildID(path string) string {
	i := slices.IndexFunc(c.symbols.Modules, func(m symbolize.Module) bool { return m.Path == path })
	if i < 0 {
		return ""
	}
	return c.symbols.Modules[i].BuildID
}

func (b *builder) function(f symbolize.Frame) *profile.Function {
	key := functionKey{f.Function, cmp.Or(f.Linkage, f.Function), f.File, f.StartLine}
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

// mainMapping is the executable mapping of the program.
func (c *Converter) mainMapping() mappingKey {
	path := symbolize.MainProgram(c.series)
	for i, sp := range c.series.Spaces {
		for _, m := range sp.Mappings {
			if path != "" && m.Path == path {
				return mappingKey{heapfile.Space(i), m}
			}
		}
	}
	return mappingKey{}
}

// Check verifies that a profile's sums are those of its snapshot, which is what conversion may never change.
func Check(p *profile.Profile, s *heapfile.Snapshot) error {
	e := s.Completeness.Estimate
	want := []int64{e.AllocObjects, e.AllocBytes, e.InuseObjects, e.InuseBytes}
	want = want[len(want)-len(p.SampleType):]
	got := make([]int64, len(want))
	for _, sample := range p.Sample {
		for i, v := range sample.Value {
			got[i] += v
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: sums changed in conversion: %v, want %v", s.Path, got, want)
	}
	return p.CheckValid()
}
