package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
	"github.com/heaplapse/heaplapse/symbolize/internal/jit"
)

// resolveGenerated names addresses outside of files: generated code by the perf maps and jitdumps of
// just-in-time compilers, scripts by the frames files of heaplapse's engine.
func (s *Symbols) resolveGenerated(series *series.Series, o Options, source files.Source) {
	if !slices.ContainsFunc(s.Locations, func(l Location) bool { return l.generated() }) {
		return
	}
	var maps []*jit.Map
	for _, path := range append(framesPaths(series, o), perfMapPaths(series, o)...) {
		m, err := generatedCode(source, path)
		if err != nil {
			s.Warnings = append(s.Warnings, fmt.Errorf("names not used: %w", err))
			continue
		}
		if m.Skipped != nil {
			s.Warnings = append(s.Warnings, fmt.Errorf("names are missing: %w", m.Skipped))
		}
		maps = append(maps, m)
	}
	if len(maps) == 0 {
		return
	}
	for i := range s.Locations {
		if l := &s.Locations[i]; l.generated() {
			l.nameByMaps(maps)
		}
	}
}

// generatedCode reads a file that names addresses outside of files.
func generatedCode(source files.Source, path string) (*jit.Map, error) {
	file, err := source.OpenMap(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jit.Read(file, path)
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
			l.Source, l.Reason = mapSources[m.Kind], ReasonNone
			return
		}
	}
	if l.Reason == ReasonAnonymous {
		l.Reason = ReasonNoPerfEntry
	}
}

// mapSources are the sources of names, by the kind of file.
var mapSources = map[jit.Kind]Source{jit.PerfMap: SourcePerfMap, jit.JITDump: SourceJITDump, jit.Frames: SourceFrames}

// framesPaths returns the frames files in the options or, if there are none, those of the process
// that the manifest lists or that are next to the snapshots. There is one for each process image;
// their addresses differ.
func framesPaths(series *series.Series, o Options) []string {
	if o.Frames != nil {
		return o.Frames
	}
	pid := series.PID()
	paths := copiedMaps(series, manifest.KindFrames, pid)
	prefix := strings.TrimSuffix(filepath.Base(series.Process.Prefix), fmt.Sprintf("_%d", pid))
	first := globQuote(filepath.Join(series.Dir(), fmt.Sprintf("%s.%d", prefix, pid)))
	for _, image := range []string{"", ".*"} {
		for _, ext := range []string{"", ".gz", ".zst"} {
			found, _ := filepath.Glob(first + image + manifest.FramesSuffix + ext)
			paths = append(paths, slices.DeleteFunc(found, func(path string) bool {
				return slices.Contains(paths, path) || isIrregular(path)
			})...)
		}
	}
	return paths
}

// perfMapPaths returns the maps in the options or, if there are none, those that it finds. Jitdumps
// come first, because they have lines.
func perfMapPaths(series *series.Series, o Options) []string {
	if o.PerfMaps != nil {
		return o.PerfMaps
	}
	pid := series.PID()
	var paths []string
	for _, k := range []struct{ kind, name, elsewhere string }{
		{"jitdump", "jit-%s.dump", "/proc/%d/cwd"}, {"perf-map", "perf-%s.map", ""},
	} {
		if copies := copiedMaps(series, k.kind, pid); len(copies) > 0 {
			paths = append(paths, copies...)
			continue
		}
		paths = append(paths, findPerfMap(series.Dir(), k.name, k.elsewhere, pid, o.Sysroot == "")...)
	}
	return paths
}

// copiedMaps returns the maps of a process that the recorder copied to the directory of the
// snapshots, according to the manifest.
func copiedMaps(series *series.Series, kind string, pid int) (paths []string) {
	if series.Manifest == nil {
		return nil
	}
	for _, f := range series.Manifest.Files {
		path := filepath.Join(series.Dir(), filepath.Base(f.File))
		if f.Kind != kind || (f.PID != 0 && f.PID != pid) || slices.Contains(paths, path) {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// findPerfMap searches the directory of the snapshots, /tmp, and the working directory of the
// process. If the PID is not known, it takes the only map in the directory of the snapshots, if
// there is just one.
func findPerfMap(dir, name, elsewhere string, pid int, here bool) []string {
	pattern := fmt.Sprintf(name, "*")
	if pid != 0 {
		pattern = fmt.Sprintf(name, strconv.Itoa(pid))
	}
	var beside []string
	for _, ext := range []string{"", ".gz", ".zst"} {
		found, _ := filepath.Glob(filepath.Join(globQuote(dir), pattern+ext))
		beside = append(beside, slices.DeleteFunc(found, isIrregular)...)
	}
	if len(beside) == 1 {
		return beside
	}
	if pid == 0 || len(beside) > 0 || !here {
		return nil
	}
	dirs := []string{"/tmp"}
	if elsewhere != "" {
		dirs = append(dirs, fmt.Sprintf(elsewhere, pid))
	}
	for _, d := range dirs {
		if path := filepath.Join(d, pattern); !isIrregular(path) {
			return []string{path}
		}
	}
	return nil
}

// isIrregular reports whether a path is missing or not a regular file: a pipe in /tmp that another
// user made would block the reader. Paths in the options are not checked.
func isIrregular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.Mode().IsRegular()
}

// globQuote escapes the characters of a directory that are special in glob patterns.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
