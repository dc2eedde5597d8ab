// Package maps finds the files that name addresses outside of ELF files: perf maps and jitdumps of just-in-time
// compilers, and frames files of heaplapse's engine.
package maps

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

// File is a file that names addresses outside of files. users is nil unless other users can make
// a file of this name: then they may own it.
type File struct {
	path  string
	users []int
}

// Read reads the file.
func (f File) Read(source files.Source) (*jit.Map, error) {
	file, err := source.OpenMap(f.path, f.users)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jit.Read(file, f.path)
}

// filesAt returns the files at paths that other users cannot have made.
func filesAt(paths []string) (out []File) {
	for _, path := range paths {
		out = append(out, File{path: path})
	}
	return out
}

// Frames returns the frames files at some paths or, if these are nil, those of the process that the manifest lists or
// that are next to the snapshots. There is one for each process image; their addresses differ.
func Frames(series *series.Series, explicit []string) []File {
	if explicit != nil {
		return filesAt(explicit)
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
	return filesAt(paths)
}

// Generated returns the perf maps and jitdumps at some paths or, if these are nil, those that it finds: not in
// /tmp if there is a sysroot. Jitdumps come first, because they have lines.
func Generated(series *series.Series, explicit []string, sysroot string) (out []File) {
	if explicit != nil {
		return filesAt(explicit)
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
		case len(beside) == 0 && pid != 0 && sysroot == "":
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
func ofProcess(series *series.Series, name, elsewhere string) []File {
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
			return []File{{path, users}}
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
