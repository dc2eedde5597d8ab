// Package discover finds the files of snapshots at the paths that a user names: directories, files,
// prefixes, globs, pipes and standard input. It reads nothing but names, except that it copies what
// can be read only once.
package discover

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/spelling"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// ErrNoSnapshots is wrapped by the error of a path that holds no snapshots.
var ErrNoSnapshots = errors.New("no heap snapshots")

// File is the file of a snapshot that was found.
type File struct {
	Path  string // the name used in output
	FS    fs.FS  // contains the file
	Entry string // its name in FS: differs from Path for copies of standard input and bundles
	Name  filename.Name
	// Named is set if the user named this very file, rather than a directory or pattern.
	Named bool
}

// Finder finds files.
type Finder struct {
	// Stdin is read for the path "-"; nil if there is none.
	Stdin io.Reader
	// Waiting, if not nil, is called with the path of a pipe that has delivered nothing for a
	// second.
	Waiting func(path string)
	// Files are those that were found so far, in the order in which they were found.
	Files []File
	// Spool has the copies of standard input and pipes. The caller closes them.
	Spool []*spool.Spool
}

// Add adds the files at a path: a directory, a file, a prefix, a glob or - for standard input.
func (d *Finder) Add(path string) error {
	switch path {
	case "-":
		return d.addStdin()
	case "": // most often a variable of a shell
		return errors.New("a PATH is empty: name a directory, a file or a prefix of snapshots")
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if compressed := compressedCopy(path); compressed != "" {
			d.addFile(compressed, true)
			return nil
		}
	}
	switch {
	case err == nil && info.IsDir():
		return d.addDir(path)
	case err == nil && !info.Mode().IsRegular():
		return d.addPipe(path)
	case err == nil:
		d.addFile(path, true)
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return ReadError(path, err)
	case strings.ContainsAny(path, "*?["):
		return d.addGlob(path)
	}
	return d.addPrefix(path)
}

// compressedCopy returns the path of the compressed copy of a snapshot, or "" if there is none:
// record compresses what it wrote.
func compressedCopy(path string) string {
	for _, name := range filename.Compressed(path) {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// recordedFS is the files of this machine. It opens the compressed copy of a snapshot if the
// recorder has replaced the snapshot since it was found.
type recordedFS struct{ infile.FS }

// Open implements [fs.FS].
func (f recordedFS) Open(path string) (fs.File, error) {
	file, err := f.FS.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if compressed := compressedCopy(path); compressed != "" {
		return f.FS.Open(compressed)
	}
	return nil, err
}

func (d *Finder) addFile(path string, named bool) {
	d.AddEntry(recordedFS{}, path, path, named)
}

// AddEntry adds a file of a file system, which must be comparable. path is the name used in output.
func (d *Finder) AddEntry(in fs.FS, entry, path string, named bool) {
	d.Files = append(d.Files, File{Path: path, FS: in, Entry: entry, Name: filename.Parse(path), Named: named})
}

// Comparable returns a file system that can be compared; nil stands for this machine.
func Comparable(in fs.FS) fs.FS {
	if in == nil {
		in = recordedFS{}
	}
	return &archive{in}
}

// archive makes a file system comparable.
type archive struct{ fs.FS }

func (d *Finder) addDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ReadError(dir, err)
	}
	before := len(d.Files)
	for _, e := range entries {
		if filename.OfSnapshots(e.Name()) && !e.IsDir() {
			d.addFile(filepath.Join(dir, e.Name()), false)
		}
	}
	if len(d.Files) == before {
		const names = "*.heap, *.pb, *.pprof, *.prof, *.jeprof; with .gz or .zst, too"
		if other := elsewhere(dir, entries); other != "" {
			return fmt.Errorf("%s: %w in this directory, but %s", dir, ErrNoSnapshots, other)
		}
		err := fmt.Errorf("%s: %w in this directory (%s)", dir, ErrNoSnapshots, names)
		if m, unread := manifest.Load(dir); unread == nil && m != nil && m.Failure() != "" {
			err = fmt.Errorf("%w: %s", err, m.Failure())
		}
		return err
	}
	return nil
}

// elsewhere tells what a directory without snapshots has instead; "" if it has neither recordings
// nor baselines.
func elsewhere(dir string, entries []fs.DirEntry) string {
	const most = 1000 // directories that are looked into
	var below []string
	for _, e := range entries[:min(len(entries), most)] {
		if strings.HasSuffix(e.Name(), ".baseline.json.gz") {
			return "baselines: gate compares a run with them, and heaplapse baseline list shows them"
		}
		if e.IsDir() && holdsSnapshots(filepath.Join(dir, e.Name())) {
			below = append(below, filepath.Join(dir, e.Name()))
		}
	}
	if len(below) == 0 {
		return ""
	}
	return "below it: name one of " + manifest.FirstOf(below)
}

func holdsSnapshots(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return filename.OfSnapshots(e.Name()) && !e.IsDir()
	})
}

// remedy tells what to do if there are no snapshots at a path.
const remedy = ": check the path, or record a program first: heaplapse record -- CMD"

// addGlob adds the files that match a pattern, and those of the directories that match it. Other
// directories, and what a recorder writes beside snapshots, may match, too.
func (d *Finder) addGlob(pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("%s: not a valid pattern: %w", pattern, err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s: %w match this pattern%s", pattern, ErrNoSnapshots, remedy)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case manifest.IsBeside(filepath.Base(p)):
		case err == nil && info.Mode().IsRegular():
			d.addFile(p, false)
		case err == nil && info.IsDir():
			if err := d.addDir(p); err != nil && !errors.Is(err, ErrNoSnapshots) {
				return err
			}
		}
	}
	return nil
}

// addPrefix finds /tmp/profile.0001.heap, /tmp/profile_4711.0001.heap and
// /tmp/profile.4711.0.i0.heap for /tmp/profile.
func (d *Finder) addPrefix(prefix string) error {
	dir, base := filepath.Split(strings.TrimRight(prefix, "/"))
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	notFound := fmt.Errorf("%s: no such file or directory, and %w have this prefix%s", prefix, ErrNoSnapshots,
		cmp.Or(didYouMean(dir, base, entries), remedy))
	if err != nil || base == "" {
		return notFound
	}
	before := len(d.Files)
	for _, e := range entries {
		path := dir + e.Name()
		if filename.OfSnapshots(e.Name()) && !e.IsDir() && filename.Parse(path).HasPrefix(prefix) {
			d.addFile(path, false)
		}
	}
	if len(d.Files) == before {
		return notFound
	}
	return nil
}

// didYouMean returns a question about the entry of a directory that a mistyped name most likely
// stands for.
func didYouMean(dir, mistyped string, entries []fs.DirEntry) string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if near := spelling.Nearest(mistyped, names); near != "" {
		return ": did you mean " + dir + near + "?"
	}
	return ""
}

// ReadError makes "open x: no such file or directory" print as "x: cannot be read: no such file or
// directory".
func ReadError(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: cannot be read: %w", path, pe.Err)
	}
	return err
}
