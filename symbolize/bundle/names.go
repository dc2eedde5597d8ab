package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/spool"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// Held is where the files of a process can be read while a recorder holds them open: its root directory, or "" if it is
// that of this process, and the paths at which files are, by their paths in the process.
type Held struct {
	Root  string
	Files map[string]string
}

// AddHeld resolves the names of a series, in files that a recorder holds open.
func (c *Collector) AddHeld(ctx context.Context, s *series.Series, h Held) (*symbolize.Symbols, error) {
	return c.add(ctx, s, files.Held{Host: hostOf(s.Dir(), nil), Root: h.Root, Files: h.Files})
}

// Names is the files of an unpacked bundle, for a recording that is not in it.
type Names struct {
	bundle *Bundle
	files  map[string]*File // by path in the recorded process; they are other ones than those at these paths here
}

// openNamesIn opens the file [manifest.NamesFile] of a directory, or the bundle of the recording beside the directory.
// It returns nil if there is none, or if all of its files are at their paths on this machine.
func openNamesIn(dir string) (*Names, error) {
	for _, path := range []string{filepath.Join(dir, manifest.NamesFile), filepath.Clean(dir) + Suffix} {
		n, err := openNames(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return n, err
	}
	return nil, nil
}

func openNames(path string) (*Names, error) {
	f, info, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ix, err := indexIn(f)
	if err != nil {
		return nil, fmt.Errorf("%s: not a usable bundle: %w", path, err)
	}
	if len(ix.others()) == 0 {
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	b, err := unpack(f, info.Size(), path)
	if err != nil {
		return nil, err
	}
	return &Names{b, b.Index.others()}, nil
}

// NameFiles are the names in the directories of recordings, which are opened when they are needed first. The zero value
// is ready for use.
type NameFiles struct{ byDir map[string]nameFile }

type nameFile struct {
	names *Names
	err   error
}

// In returns the names in the file [manifest.NamesFile] of a directory, or in the bundle of the recording beside the
// directory. It returns nil if there is none, or if all of its files are at their paths on this machine. It returns the
// same in each call.
func (n *NameFiles) In(dir string) (*Names, error) {
	known, ok := n.byDir[dir]
	if !ok {
		known.names, known.err = openNamesIn(dir)
		if n.byDir == nil {
			n.byDir = map[string]nameFile{}
		}
		n.byDir[dir] = known
	}
	return known.names, known.err
}

// open opens an unpacked file of any directory.
func (n *NameFiles) open(path string) (*spool.File, error) {
	for _, known := range n.byDir {
		if known.names != nil && known.names.files[path] != nil {
			return known.names.open(path)
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// Close removes the unpacked files.
func (n *NameFiles) Close() (err error) {
	for _, known := range n.byDir {
		if known.names != nil {
			err = errors.Join(err, known.names.bundle.Close())
		}
	}
	return err
}

// indexIn reads the index of a bundle.
func indexIn(r io.Reader) (*Index, error) {
	z, err := decoder(r)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return firstIndex(tar.NewReader(z))
}

// others returns the files that are not at their paths on this machine, by path in the recorded process.
func (ix *Index) others() map[string]*File {
	list := map[string]*File{}
	for i := range ix.Files {
		f := &ix.Files[i]
		path := strings.TrimPrefix(f.Path, ix.Search.Sysroot)
		// [vdso] is in the directory of the recording.
		if f.Entry != "" && path != files.VDSO && !f.isAt(path) {
			list[path] = f
		}
	}
	return list
}

// isAt reports whether a file of the bundle is at a path on this machine.
func (f *File) isAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == f.Size && info.ModTime().Equal(f.Modified)
}

// Options returns options for the series in a directory. The names come from files of the bundle where this machine has
// others at their paths, or none.
func (n *Names) Options(dir string, here symbolize.Options) symbolize.Options {
	o := here
	o.CacheDir = ""
	o.Files = beside{n, hostOf(dir, here.Debuginfod)}
	return o
}

// open opens an unpacked file.
func (n *Names) open(path string) (*spool.File, error) {
	return source{n.bundle}.find(n.files[path].Path)
}

func hostOf(dir string, client *symbolize.Debuginfod) files.Host {
	return files.Host{VDSO: filepath.Join(dir, manifest.VDSOFile), Debuginfod: client}
}

// beside implements files.Source with the files of this machine, but for those of which a bundle has another version.
type beside struct {
	names *Names
	files.Host
}

func (b beside) Open(path string) (*elffile.File, error) {
	if b.names.files[path] == nil {
		return b.Host.Open(path)
	}
	f, err := b.names.open(path)
	if err != nil {
		return nil, err
	}
	whole, offset := f.Part()
	return elffile.OpenPart(path, whole, offset, f.Info())
}

func (b beside) CRC(path string) (uint32, error) {
	if f := b.names.files[path]; f != nil {
		return source{b.names.bundle}.CRC(f.Path)
	}
	return b.Host.CRC(path)
}
