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
	"github.com/heaplapse/heaplapse/internal/infile"
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
	for _, file := range append(filesAt(framesPaths(series, o)), mapFiles(series, o)...) {
		m, err := file.read(source)
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
	s.nameInlined()
}

// mapFile is a file that names addresses outside of files. users is nil unless other users can make
// a file of this name: then they may own it.
type mapFile struct {
	path  string
	users []int
}

func (f mapFile) read(source files.Source) (*jit.Map, error) {
	file, err := source.OpenMap(f.path, f.users)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jit.Read(file, f.path)
}

// filesAt returns the files at paths that other users cannot have made.
func filesAt(paths []string) (out []mapFile) {
	for _, path := range paths {
		out = append(out, mapFile{path: path})
	}
	return out
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
		for _, path := range regularFiles(first + image + manifest.FramesSuffix) {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// mapFiles returns the maps in the options or, if there are none, those that it finds. Jitdumps come
// first, because they have lines.
func mapFiles(series *series.Series, o Options) (out []mapFile) {
	if o.PerfMaps != nil {
		return filesAt(o.PerfMaps)
	}
	pid := series.PID()
	for _, k := range []struct{ kind, name, elsewhere string }{
		{"jitdump", "jit-%s.dump", "/proc/%d/cwd"}, {"perf-map", "perf-%s.map", ""},
	} {
		if copies := copiedMaps(series, k.kind, pid); len(copies) > 0 {
			out = append(out, filesAt(copies)...)
			continue
		}
		beside := besideSnapshots(series.Dir(), k.name, pid)
		switch {
		case len(beside) == 1:
			out = append(out, filesAt(beside)...)
		case len(beside) == 0 && pid != 0 && o.Sysroot == "":
			out = append(out, ofProcess(series, k.name, k.elsewhere)...)
		}
	}
	return out
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
		if !isIrregular(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// besideSnapshots returns the maps of a process in the directory of its snapshots, or all maps there
// if the PID is not known. The caller uses a single one only.
func besideSnapshots(dir, name string, pid int) []string {
	pattern := fmt.Sprintf(name, "*")
	if pid != 0 {
		pattern = fmt.Sprintf(name, strconv.Itoa(pid))
	}
	return regularFiles(filepath.Join(globQuote(dir), pattern))
}

// regularFiles returns the files that match a pattern, compressed ones too.
func regularFiles(pattern string) (paths []string) {
	for _, ext := range []string{"", ".gz", ".zst"} {
		found, _ := filepath.Glob(pattern + ext)
		paths = append(paths, slices.DeleteFunc(found, isIrregular)...)
	}
	return paths
}

// ofProcess returns the map of a process in /tmp or in elsewhere, a directory of the process. A map
// of a process with the same number may be there, or a file that another user made, so its owner
// must be this user or the one who wrote the snapshots.
func ofProcess(series *series.Series, name, elsewhere string) []mapFile {
	users := []int{os.Geteuid()}
	if info, err := os.Stat(series.Heads[0].Path); err == nil {
		if user, known := infile.Owner(info); known {
			users = append(users, user)
		}
	}
	dirs := []string{"/tmp"}
	if elsewhere != "" {
		dirs = append(dirs, fmt.Sprintf(elsewhere, series.PID()))
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, fmt.Sprintf(name, strconv.Itoa(series.PID())))
		if _, err := os.Lstat(path); err == nil {
			return []mapFile{{path, users}}
		}
	}
	return nil
}

// isIrregular reports whether a path is missing or not a regular file: a pipe would block the reader.
// Paths in the options are not checked.
func isIrregular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.Mode().IsRegular()
}

// globQuote escapes the characters of a directory that are special in glob patterns.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
