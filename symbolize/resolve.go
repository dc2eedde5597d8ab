package symbolize

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// Resolve names the addresses of a series. If the context ends, Resolve returns an error that wraps
// the context's error. It checks the context during downloads and between modules.
func Resolve(ctx context.Context, from *series.Series, o Options) (*Symbols, error) {
	source := o.source(filepath.Join(from.Dir(), manifest.VDSOFile))
	s := &Symbols{}
	jobs := s.place(from, source)
	r := newResolver(o, source, forHeaps)
	r.resolve(ctx, jobs, s.Modules)
	r.names.finish(s.Locations)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolving names: %w", err)
	}
	for _, j := range jobs {
		_ = j.cache.save() // an unsaved answer is resolved again in the next run
	}
	s.Warnings = append(s.Warnings, o.Debuginfod.Warnings()...)
	s.resolveGenerated(from, o, source)
	s.useEmbedded(from, o.Demangle)
	s.sites = newSiteTable(s)
	return s, nil
}

// Program returns the main program of a series, with the reason why its file cannot name addresses:
// it is missing, is not the one that ran, or was stripped. It names none. Program returns nil if no
// stack has an address in the program, or if the snapshots have names of their own.
func Program(ctx context.Context, from *series.Series, o Options) *Module {
	source := o.source(filepath.Join(from.Dir(), manifest.VDSOFile))
	s := &Symbols{}
	jobs := s.place(from, source)
	i := slices.IndexFunc(jobs, func(j *moduleJob) bool { return j.main })
	if i < 0 || len(from.Symbols) > 0 {
		return nil
	}
	r, m := newResolver(o, source, forHeaps), &s.Modules[jobs[i].id]
	r.inFile(ctx, jobs[i], m, func(file *elffile.File) {
		if r.locate(file, jobs[i], m) && !r.canName(ctx, file, jobs[i].out) {
			m.Reason = ReasonNoSymbols
		}
	})
	return m
}

// resolve names the addresses of all modules. It starts with the largest one and works on several
// modules concurrently. The units of a module are searched concurrently, too, and names are
// demangled at the same time (see nameTable). Nothing else in the package is concurrent. Jobs share
// no Location.
func (r *resolver) resolve(ctx context.Context, jobs []*moduleJob, modules []Module) {
	order := slices.Clone(jobs)
	slices.SortStableFunc(order, func(a, b *moduleJob) int { return cmp.Compare(len(b.places), len(a.places)) })
	queue := make(chan *moduleJob)
	var wg sync.WaitGroup
	for range min(r.workers, max(len(jobs), 1)) {
		wg.Go(func() {
			for j := range queue {
				if ctx.Err() == nil {
					r.resolveModule(ctx, j, &modules[j.id])
				}
			}
		})
	}
	for _, j := range order {
		queue <- j
	}
	close(queue)
	wg.Wait()
}

// useEmbedded names addresses without a name by the names that symbolized snapshots of the same
// process image contain. Their writer looked up either the return address or the call before it.
func (s *Symbols) useEmbedded(from *series.Series, mode Demangle) {
	if len(from.Symbols) == 0 {
		return
	}
	demangled := map[string]string{} // jeprof and pprof write mangled names if c++filt is missing
	for i := range s.Locations {
		l := &s.Locations[i]
		if l.Named() {
			continue
		}
		image := from.Spaces[l.Space].Image
		symbol, ok := from.Symbols[series.Place{Image: image, Addr: l.Address}]
		if !ok {
			symbol = from.Symbols[series.Place{Image: image, Addr: l.Address - 1}]
		}
		for k, f := range symbol.Frames {
			l.Frames = append(l.Frames, Frame{
				Function: embeddedName(demangled, f, symbol.MadeUp, mode), Linkage: f.Linkage, File: f.File,
				Line: f.Line, Column: f.Column, StartLine: f.StartLine, Inlined: k+1 < len(symbol.Frames),
			})
		}
		if l.Named() {
			l.Source, l.Reason = SourceEmbedded, ReasonNone
		}
		if symbol.MadeUp {
			l.Source = SourceProfile
		}
	}
}

// embeddedName returns the display name of a function. A profile has names of all languages, so that
// its names are kept if they are not mangled. It keeps demangled names in the map.
func embeddedName(demangled map[string]string, f heapfile.FrameName, fromProfile bool, mode Demangle) string {
	linkage := cmp.Or(f.Linkage, f.Function)
	if fromProfile && !names.IsMangled(linkage) {
		full := strings.Contains(f.Function, "(") || strings.Contains(f.Function, "::") // C++ or Rust
		if mode == DemangleSimple && full {
			return names.Simplify(f.Function)
		}
		return f.Function
	}
	name, ok := demangled[linkage]
	if !ok {
		name = names.Demangle(linkage, mode)
		demangled[linkage] = name
	}
	return name
}
