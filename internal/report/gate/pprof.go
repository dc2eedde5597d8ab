package gate

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// diffBaseLabel marks the samples of the base, as pprof's own -diff_base does. With it pprof shows
// percentages of the base.
const diffBaseLabel = "pprof::base"

// restName is the function of all sites that are too small to be kept, so that the totals are
// right.
const restName = "(sites too small to be kept)"

// Pprof writes the current run minus a base as a pprof protobuf. The samples of the base are
// negative and labelled, as with pprof -diff_base. The base is the baseline whose heap is the
// median or, without baselines, the reference run. Frames have names, files and lines, but no
// addresses. Stacks begin at the function that the memory is attributed to, so that pprof's top
// shows the same functions as the rows instead of std::allocator.
func (g *Report) Pprof(w io.Writer) error {
	base := g.pprofBase()
	b := &profileBuilder{
		p: &profile.Profile{Comments: []string{"heaplapse " + g.Version, "current: " + g.Current.Meta.Name},
			DefaultSampleType: "inuse_space"},
		alloc:     g.Current.Meta.HasAlloc && (base == nil || base.Meta.HasAlloc),
		functions: map[pprofFunction]*profile.Function{},
		locations: map[pprofLine]*profile.Location{},
		mappings:  map[string]*profile.Mapping{},
	}
	b.types()
	b.mapping(mainModule(g.Current))
	if at := g.Current.Meta.Recorded; !at.IsZero() {
		b.p.TimeNanos = at.UnixNano()
	}
	b.run(g.Current, 1, nil)
	if base != nil {
		b.p.Comments = append(b.p.Comments, "base: "+base.Meta.Name)
		b.run(base, -1, map[string][]string{diffBaseLabel: {"true"}})
	}
	if err := b.p.CheckValid(); err != nil {
		return fmt.Errorf("the comparison is not a valid profile: %w", err)
	}
	return b.p.Write(w)
}

// pprofBase is the run that the current one is compared with.
func (g *Report) pprofBase() *baseline.Run {
	if len(g.Baselines) == 0 {
		return g.Reference
	}
	runs := slices.Clone(g.Baselines)
	slices.SortStableFunc(runs, func(a, b *baseline.Run) int { return cmp.Compare(a.Total.Bytes, b.Total.Bytes) })
	return runs[(len(runs)-1)/2]
}

// profileBuilder collects the profile. It assigns IDs in order of first use, from 1.
type profileBuilder struct {
	p         *profile.Profile
	alloc     bool // all runs have cumulative counts
	functions map[pprofFunction]*profile.Function
	locations map[pprofLine]*profile.Location
	mappings  map[string]*profile.Mapping
}

type pprofFunction struct{ name, file string }

type pprofLine struct {
	function pprofFunction
	module   string
	line     int
}

// types adds the sample types of convert, in the same order.
func (b *profileBuilder) types() {
	if b.alloc {
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: "alloc_objects", Unit: "count"},
			&profile.ValueType{Type: "alloc_space", Unit: "bytes"})
	}
	b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: "inuse_objects", Unit: "count"},
		&profile.ValueType{Type: "inuse_space", Unit: "bytes"})
}

// run adds the samples of a run, multiplied by sign.
func (b *profileBuilder) run(r *baseline.Run, sign float64, labels map[string][]string) {
	for i := range r.Sites {
		s := &r.Sites[i]
		frames := s.Frames[max(0, s.Blame):]
		stack := make([]*profile.Location, len(frames))
		for k := range frames {
			stack[k] = b.location(&frames[k])
		}
		b.sample(stack, &s.Level, sign, labels)
	}
	if r.Rest.Bytes != 0 || r.Rest.AllocBytes != 0 {
		b.sample([]*profile.Location{b.location(&symbolize.Frame{Function: restName})}, &r.Rest, sign, labels)
	}
}

func (b *profileBuilder) sample(
	stack []*profile.Location,
	l *baseline.Level,
	sign float64,
	labels map[string][]string,
) {
	var values []int64
	if b.alloc {
		values = append(values, pprofValue(sign*l.AllocObjects), pprofValue(sign*l.AllocBytes))
	}
	values = append(values, pprofValue(sign*l.Objects), pprofValue(sign*l.Bytes))
	b.p.Sample = append(b.p.Sample, &profile.Sample{Location: stack, Value: values, Label: labels})
}

func pprofValue(f float64) int64 { return int64(math.Round(text.Finite(f))) }

func (b *profileBuilder) location(f *symbolize.Frame) *profile.Location {
	key := pprofLine{pprofFunction{siteview.FunctionName(f), f.File}, f.Module, f.Line}
	if l := b.locations[key]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.mapping(f.Module),
		Line: []profile.Line{{Function: b.function(key.function), Line: int64(f.Line)}}}
	b.locations[key] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *profileBuilder) function(key pprofFunction) *profile.Function {
	f := b.functions[key]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: key.name, SystemName: key.name,
			Filename: key.file}
		b.functions[key] = f
		b.p.Function = append(b.p.Function, f)
	}
	return f
}

// mainModule is the program of a run, with its path if a stack has it. pprof regards the first
// mapping as the program.
func mainModule(r *baseline.Run) string {
	for i := range r.Sites {
		for _, f := range r.Sites[i].Frames {
			if f.Module != "" && path.Base(f.Module) == path.Base(r.Meta.Program) {
				return f.Module
			}
		}
	}
	return r.Meta.Program
}

// mapping returns the mapping of a module, without addresses; nil if module is empty.
func (b *profileBuilder) mapping(module string) *profile.Mapping {
	if module == "" {
		return nil
	}
	m := b.mappings[module]
	if m == nil {
		m = &profile.Mapping{ID: uint64(len(b.p.Mapping) + 1), File: module, HasFunctions: true, HasFilenames: true,
			HasLineNumbers: true, HasInlineFrames: true}
		b.mappings[module] = m
		b.p.Mapping = append(b.p.Mapping, m)
	}
	return m
}
