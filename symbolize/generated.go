package symbolize

import (
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
	"github.com/heaplapse/heaplapse/symbolize/internal/maps"
)

// resolveGenerated names addresses outside of files: generated code by the perf maps and jitdumps of
// just-in-time compilers, scripts by the frames files of heaplapse's engine.
func (s *Symbols) resolveGenerated(series *series.Series, o Options, source files.Source) {
	if !slices.ContainsFunc(s.Locations, func(l Location) bool { return l.generated() }) {
		return
	}
	var read []*jit.Map
	all := append(maps.Frames(series, o.Frames), maps.Generated(series, o.PerfMaps, o.Sysroot)...)
	for _, file := range all {
		m, err := file.Read(source)
		if err != nil {
			s.Warnings = append(s.Warnings, fmt.Errorf("names not used: %w", err))
			continue
		}
		if m.Skipped != nil {
			s.Warnings = append(s.Warnings, fmt.Errorf("names are missing: %w", m.Skipped))
		}
		read = append(read, m)
	}
	if len(read) == 0 {
		return
	}
	for i := range s.Locations {
		if l := &s.Locations[i]; l.generated() {
			l.nameByMaps(read)
		}
	}
	s.nameInlined()
}

// generated reports whether the address may be in generated code.
func (l *Location) generated() bool {
	return l.Reason == ReasonAnonymous || l.Reason == ReasonNoMapping
}

// nameByMaps names a location by the first map that contains it.
func (l *Location) nameByMaps(maps []*jit.Map) {
	for _, m := range maps {
		if f, ok := m.Find(uint64(l.Address) - 1); ok {
			l.Frames = []Frame{{Function: f.Function, File: f.File, Line: f.Line, Column: f.Column, StartLine: f.StartLine}}
			l.language = f.Language
			l.Source, l.Reason, l.code = mapSources[m.Kind], ReasonNone, m.Code(uint64(l.Address)-1)
			return
		}
	}
	if l.Reason == ReasonAnonymous {
		l.Reason = ReasonNoPerfEntry
	}
}

// mapSources are the sources of names, by the kind of file.
var mapSources = map[jit.Kind]Source{jit.PerfMap: SourcePerfMap, jit.JITDump: SourceJITDump, jit.Frames: SourceFrames}
