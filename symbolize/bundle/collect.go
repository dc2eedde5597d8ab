package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// Contents is the content of a bundle that is to be written: the index, and the files with the
// bytes of its entries.
type Contents struct {
	Index Index
	parts []part    // sorted by entry
	names NameFiles // closed when the contents are written
	// removed is the number of snapshots that were removed after they were read.
	removed int
}

// part is the content of one entry.
type part struct {
	entry, path string
	// keep has the ranges that are kept; nil means the whole file.
	keep []elffile.Range
	info fs.FileInfo
	// file, if not nil, is the open file. A recorder that runs may remove or compress a snapshot meanwhile.
	file *os.File
	// content, if not nil, is the content of a file that is in an archive of names.
	content io.ReaderAt
	// loose is the size of the entry if gzip compressed the file: see [loosen]. It is 0 for other files.
	loose int64
}

// Stats has the numbers of files, and their sizes in bytes.
type Stats struct {
	Snapshots, Files int
	// Original is the size of the files that symbols come from, Kept the size of the parts in the
	// bundle.
	Original, Kept int64
	Missing        int // files that could not be used
	Removed        int // snapshots that a recorder removed after they were read
}

// Stats returns the sizes of the contents.
func (c *Contents) Stats() Stats {
	s := Stats{Snapshots: len(c.Index.Snapshots), Removed: c.removed}
	for _, f := range c.Index.Files {
		if f.Entry == "" {
			s.Missing++
			continue
		}
		s.Files++
		s.Original += f.Size
		s.Kept += f.Kept
	}
	return s
}

// Collector gathers the contents from several series: those of all processes of a directory.
type Collector struct {
	// Writer is the version of heaplapse.
	Writer string
	// Search has the options that locate files. CacheDir is ignored.
	Search symbolize.Options

	names     NameFiles
	used      files.Recorder
	sources   []series.Source
	generated []Generated
}

// Add resolves the names of a series.
func (c *Collector) Add(ctx context.Context, s *series.Series) (*symbolize.Symbols, error) {
	host := hostOf(s.Dir(), c.Search.Debuginfod)
	if c.Search.Sysroot != "" {
		return c.add(ctx, s, host)
	}
	names, err := c.names.In(s.Dir())
	if err != nil {
		return nil, err
	}
	if names == nil {
		return c.add(ctx, s, host)
	}
	return c.add(ctx, s, beside{names, host})
}

func (c *Collector) add(ctx context.Context, s *series.Series, from files.Source) (*symbolize.Symbols, error) {
	c.sources = s.Sources() // the same for all series of one directory
	o := c.Search
	recording := c.used.Record(from)
	o.CacheDir, o.Files = "", recording
	symbols, err := symbolize.Resolve(ctx, s, o)
	if err != nil {
		return nil, err
	}
	c.generated = append(c.generated, Generated{Process: s.Process.String(), Paths: recording.Maps()})
	return symbols, nil
}

// Contents returns the contents of a bundle of all series that were added.
func (c *Collector) Contents() (*Contents, error) {
	out := c.empty()
	out.names, out.Index.Processes = c.names, c.generated
	return out.with(out.addSnapshots(c.sources), out.addFiles(c.used.Files()), out.addMaps(c.generated))
}

// Unbound returns the contents of a bundle without snapshots: see [manifest.NamesFile]. Of the files that name the
// addresses of the series that were added, it has those for whose paths keep returns true.
func (c *Collector) Unbound(keep func(path string) bool) (*Contents, error) {
	out := c.empty()
	used := slices.DeleteFunc(c.used.Files(), func(u files.Used) bool { return !keep(u.Path) })
	return out.with(out.addFiles(used))
}

func (c *Collector) empty() *Contents {
	o := c.Search
	out := &Contents{Index: Index{
		Schema: Schema, Writer: c.Writer,
		Snapshots: []Snapshot{}, Sidecars: []Sidecar{}, Files: []File{}, Fetched: []Fetched{}, Processes: []Generated{},
		Search: Search{Binary: o.Binary, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs},
	}}
	for _, f := range c.used.Fetches() {
		out.Index.Fetched = append(out.Index.Fetched, Fetched(f))
	}
	return out
}

// with returns the sorted contents, unless adding to them has failed.
func (c *Contents) with(errs ...error) (*Contents, error) {
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(c.parts, func(a, b part) int { return cmp.Compare(a.entry, b.entry) })
	slices.SortFunc(c.Index.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return c, nil
}

// maxHeld is the number of snapshots that are held open until they are written. Recordings of one process have fewer
// by default, and a process may have at least 1024 open files.
const maxHeld = 700

// addSnapshots adds the snapshots and their manifests.
func (c *Contents) addSnapshots(sources []series.Source) error {
	dirs, left := map[string]string{}, int64(maxAllLoose)
	for _, s := range sources {
		if s.Entry != s.Path {
			return fmt.Errorf("%s: only files can be bundled", s.Path)
		}
		p, err := snapshotPart(s.Path)
		if errors.Is(err, fs.ErrNotExist) { // a recorder that runs has compressed it, or removed it to keep fewer
			s.Path += ".gz"
			p, err = snapshotPart(s.Path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			c.removed++
			continue
		}
		if err != nil {
			return err
		}
		dir, known := dirs[filepath.Dir(s.Path)]
		if !known {
			dir = fmt.Sprintf("snapshots/%d", len(dirs)+1)
			dirs[filepath.Dir(s.Path)] = dir
			if err := c.addSidecars(filepath.Dir(s.Path), dir); err != nil {
				return err
			}
		}
		p.entry, p.loose = path.Join(dir, filepath.Base(s.Path)), looseSize(p.file, &left)
		if len(c.parts) >= maxHeld {
			p.close()
		}
		c.parts = append(c.parts, p)
		c.Index.Snapshots = append(
			c.Index.Snapshots,
			Snapshot{Entry: p.entry, Path: s.Path, Modified: p.info.ModTime().UTC(), Named: s.Named},
		)
	}
	if len(c.Index.Snapshots) == 0 {
		return errors.New("all snapshots were removed while they were read: run this again")
	}
	return nil
}

// snapshotPart opens a snapshot.
func snapshotPart(path string) (part, error) {
	info, err := wholeFile(path)
	if err != nil {
		return part{}, err
	}
	file, opened, err := infile.Open(path)
	if err != nil {
		return part{}, err
	}
	p := part{path: path, info: info, file: file}
	if !os.SameFile(info, opened) {
		p.close()
		return part{}, p.changed()
	}
	return p, nil
}

func (p *part) close() {
	p.file.Close()
	p.file = nil
}

// addSidecars adds what the recorder wrote to a directory besides the snapshots: the manifest, and what holds the
// memory.
func (c *Contents) addSidecars(from, dir string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name == manifest.Name || strings.HasSuffix(name, manifest.HoldersSuffix) {
			if err := c.addSidecar(filepath.Join(from, name), dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Contents) addSidecar(file, dir string) error {
	info, err := wholeFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entry := path.Join(dir, filepath.Base(file))
	c.parts = append(c.parts, part{entry: entry, path: file, info: info})
	c.Index.Sidecars = append(c.Index.Sidecars, Sidecar{Entry: entry, Path: file})
	return nil
}

// addFiles adds the parts of files that were read, on this machine or in an archive of names.
func (c *Contents) addFiles(used []files.Used) error {
	for _, u := range used {
		if u.Err != nil {
			c.Index.Files = append(c.Index.Files, File{Path: u.Path, Error: u.Err.Error()})
			continue
		}
		p, err := c.filePart(u)
		if err != nil {
			return err
		}
		info := p.info
		if info.Size() != u.Size || !info.ModTime().Equal(u.ModTime) {
			return fmt.Errorf("%s: changed while it was read: run this again", u.Path)
		}
		f := File{Path: u.Path, Entry: c.entryFor(u.Path), Size: u.Size, Modified: u.ModTime.UTC(), CRC: u.CRC}
		for _, r := range u.Parts {
			f.Kept += int64(r.Size)
		}
		c.Index.Files = append(c.Index.Files, f)
		p.entry = f.Entry
		c.parts = append(c.parts, p)
	}
	return nil
}

// filePart returns the parts of a file that were read.
func (c *Contents) filePart(u files.Used) (part, error) {
	if u.Local != "" {
		info, err := os.Stat(u.Local)
		return part{path: u.Local, keep: u.Parts, info: info}, err
	}
	f, err := c.names.open(u.Path)
	if err != nil {
		return part{}, err
	}
	return part{path: u.Path, keep: u.Parts, info: f.Info(), content: f}, nil
}

// addMaps adds whole perf maps and jitdumps.
func (c *Contents) addMaps(processes []Generated) error {
	for _, p := range processes {
		for _, file := range p.Paths {
			if slices.ContainsFunc(c.Index.Files, func(f File) bool { return f.Path == file }) {
				continue
			}
			info, err := wholeFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a file on the command line that does not exist is not in the bundle
			}
			if err != nil {
				return err
			}
			entry := c.entryFor(file)
			c.Index.Files = append(
				c.Index.Files,
				File{Path: file, Entry: entry, Size: info.Size(), Kept: info.Size(), Modified: info.ModTime().UTC()},
			)
			c.parts = append(c.parts, part{entry: entry, path: file, info: info})
		}
	}
	return nil
}

// wholeFile describes a file that is bundled whole, whatever it contains. It must not be a symbolic
// link: the maker of the link would choose which of the user's files are passed on.
func wholeFile(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode().Type() == fs.ModeSymlink:
		return nil, fmt.Errorf("%s: is a symbolic link, which is not bundled: replace it with a copy of the file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: only files can be bundled", path)
	}
	return info, nil
}

// entryFor returns the entry of a file: its path below root or, if that clashes with another entry,
// below root2, root3, and so on.
func (c *Contents) entryFor(file string) string {
	below := path.Clean("/" + strings.ReplaceAll(filepath.ToSlash(file), `\`, "_"))
	name := "root" + below
	for n := 2; slices.ContainsFunc(c.parts, func(p part) bool { return clash(p.entry, name) }); n++ {
		name = fmt.Sprintf("root%d%s", n, below)
	}
	return name
}

// clash reports whether two entries exclude each other: they are the same, or one is a directory of
// the other.
func clash(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
