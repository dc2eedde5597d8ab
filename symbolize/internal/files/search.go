package files

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/debuginfod"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Search finds the files of modules, and the files that hold their debug information.
type Search struct {
	Source
	// Binary is the file of the main program, "" if it is where it was mapped from.
	Binary string
	// Sysroot precedes every path; files outside it are not used.
	Sysroot string
	// DebugDirs hold separate debug files, in the layout of /usr/lib/debug or side by side, or are such
	// files. They precede /usr/lib/debug below Sysroot.
	DebugDirs []string
}

func (s Search) debugDirs() []string {
	return append(slices.Clip(s.DebugDirs), filepath.Join(s.Sysroot, "/usr/lib/debug"))
}

// Module opens the file of the module that was mapped from path: Binary if it is the main program,
// else path below Sysroot, else the debug file with the recorded build ID, else the one that a
// debuginfod server has. If all that exists is a file with another build ID, which an upgrade may
// have left at path, Module returns that file.
func (s Search) Module(ctx context.Context, path, buildID string, main bool) (*elffile.File, error) {
	if path == VDSOMapping {
		return s.Open(VDSO)
	}
	switch {
	case main && s.Binary != "":
		path = s.Binary
	case s.Sysroot != "":
		path = filepath.Join(s.Sysroot, path)
	}
	file, err := s.Open(path)
	if err == nil && (buildID == "" || file.BuildID == "" || file.BuildID == buildID) {
		return file, nil
	}
	other := s.byBuildID(buildID, filepath.Base(path))
	if other == nil {
		other = s.Fetch(ctx, buildID, debuginfod.Executable)
	}
	if other == nil {
		return file, err
	}
	if err == nil {
		file.Close()
	}
	return other, nil
}

// byBuildID opens DIR/.build-id/ab/cdef….debug, or a file with names directly in DebugDirs with this build ID, or DIR
// itself if it is a file. It returns nil if there is none.
func (s Search) byBuildID(id, name string) *elffile.File {
	if len(id) < 3 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil
	}
	for _, dir := range s.debugDirs() {
		if file := WithBuildID(s, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"), id); file != nil {
			return file
		}
	}
	for _, dir := range s.DebugDirs {
		if file := s.InDir(dir, id); file != nil {
			return file
		}
		if file := Named(WithBuildID(s, filepath.Join(dir, name), id)); file != nil {
			return file
		}
	}
	return nil
}

// Named returns a file that has names. Of a stripped program, or without a file, it returns nil.
func Named(f *elffile.File) *elffile.File {
	if f == nil || hasNames(f) {
		return f
	}
	f.Close()
	return nil
}

func hasNames(f *elffile.File) bool {
	return f.Has(".debug_info") || f.Has(".zdebug_info") || f.Has(".symtab")
}

// WithBuildID opens a file. It returns nil if there is none, or if it has another build ID.
func WithBuildID(s Source, path, id string) *elffile.File {
	file, err := s.Open(path)
	if err != nil {
		return nil
	}
	if file.BuildID != id {
		file.Close()
		return nil
	}
	return file
}

// DebugFile opens the separate debug file of a file: by build ID, else by .gnu_debuglink, whose CRC
// must match, else beside the file, else from a debuginfod server. It returns nil if there is none.
func (s Search) DebugFile(ctx context.Context, file *elffile.File) *elffile.File {
	if d := s.byBuildID(file.BuildID, filepath.Base(file.Path)); d != nil {
		return d
	}
	if d := s.byDebugLink(file); d != nil {
		return d
	}
	if d := s.beside(file); d != nil {
		return d
	}
	return s.Fetch(ctx, file.BuildID, debuginfod.Debuginfo)
}

// beside opens the debug file with the build ID of a file and the name that gdb's manual and most build tools give
// it. It needs no .gnu_debuglink, which objcopy --add-gnu-debuglink adds.
func (s Search) beside(file *elffile.File) *elffile.File {
	if file.BuildID == "" {
		return nil
	}
	dir, name := filepath.Split(file.Path)
	for _, path := range []string{name + ".debug", ".debug/" + name + ".debug", ".debug/" + name} {
		if d := Named(WithBuildID(s, filepath.Join(dir, path), file.BuildID)); d != nil {
			return d
		}
	}
	return nil
}

func (s Search) byDebugLink(file *elffile.File) *elffile.File {
	name, crc, ok := file.DebugLink()
	if !ok || strings.ContainsRune(name, '/') {
		return nil
	}
	dir := filepath.Dir(file.Path)
	inRoot, err := s.inRoot(dir)
	if err != nil {
		return nil
	}
	candidates := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
	for _, d := range s.debugDirs() {
		candidates = append(candidates, filepath.Join(d, inRoot, name))
	}
	for _, d := range s.DebugDirs {
		base := filepath.Base(file.Path)
		candidates = append(candidates, d, filepath.Join(d, name), filepath.Join(d, base+".debug"), filepath.Join(d, base))
	}
	for _, c := range candidates {
		if sum, err := s.CRC(c); err != nil || sum != crc {
			continue
		}
		if d, err := s.Open(c); err == nil {
			return d
		}
	}
	return nil
}

// inRoot returns the absolute path of a directory within Sysroot. Debug directories repeat this
// path.
func (s Search) inRoot(dir string) (string, error) {
	if s.Sysroot == "" {
		return filepath.Abs(dir)
	}
	return strings.TrimPrefix(dir, filepath.Clean(s.Sysroot)), nil
}

// AltFile opens the supplementary file that dwz made, whose build ID must match. It returns nil if
// there is none.
func (s Search) AltFile(ctx context.Context, file *elffile.File) *elffile.File {
	name, id, ok := file.AltLink()
	if !ok {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file.Path), name)
	} else if s.Sysroot != "" {
		name = filepath.Join(s.Sysroot, name)
	}
	if alt, err := s.Open(name); err == nil {
		if alt.BuildID == id {
			return alt
		}
		alt.Close()
	}
	if alt := s.byBuildID(id, filepath.Base(name)); alt != nil {
		return alt
	}
	return s.Fetch(ctx, id, debuginfod.Debuginfo)
}

// SplitPaths returns where the split debug information with a name may be: where the compiler wrote
// it, and beside the file that refers to it.
func (s Search) SplitPaths(name, compDir string, refers *elffile.File) []string {
	written := name
	if !filepath.IsAbs(name) {
		written = filepath.Join(compDir, name)
	}
	return []string{filepath.Join(s.Sysroot, written), filepath.Join(filepath.Dir(refers.Path), filepath.Base(name))}
}
