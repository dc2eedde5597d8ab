package bundle

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/spool"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// Sources returns the snapshots.
func (b *Bundle) Sources() []series.Source {
	var out []series.Source
	for _, s := range b.Index.Snapshots {
		out = append(out, series.Source{Path: s.Path, Entry: s.Entry, Named: s.Named})
	}
	return out
}

// FS returns the file system that has the entries of the sources.
func (b *Bundle) FS() fs.FS { return b.spool }

// Options returns the options with which the bundle was written, with the bundle as the source of
// files. PerfMaps has the perf maps and the frames files of one process. The caller adds options that
// affect how names are shown.
func (b *Bundle) Options(p series.Process) symbolize.Options {
	o := symbolize.Options{
		Binary: b.Index.Search.Binary, Sysroot: b.Index.Search.Sysroot, DebugDirs: b.Index.Search.DebugDirs,
		PerfMaps: []string{}, Frames: []string{}, Files: source{b},
	}
	for _, g := range b.Index.Processes {
		if g.Process == p.String() {
			o.PerfMaps = append(o.PerfMaps, g.Paths...)
		}
	}
	return o
}

// source implements files.Source with the files of a bundle.
type source struct{ bundle *Bundle }

// find opens the unpacked file.
func (s source) find(path string) (*spool.File, error) {
	f, ok := s.bundle.files[path]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case f.Entry == "":
		return nil, errors.New(f.Error)
	}
	return s.bundle.spool.File(f.Entry)
}

func (s source) Open(path string) (*elffile.File, error) {
	f, err := s.find(path)
	if err != nil {
		return nil, err
	}
	whole, offset := f.Part()
	return elffile.OpenPart(path, whole, offset, f.Info())
}

// CRC returns the checksum in the index: the bundle has only parts of the file.
func (s source) CRC(path string) (uint32, error) {
	f, ok := s.bundle.files[path]
	if !ok || f.CRC == nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return *f.CRC, nil
}

func (s source) Fetch(_ context.Context, buildID, kind string) *elffile.File {
	for _, f := range s.bundle.Index.Fetched {
		if f.BuildID != buildID || f.Kind != kind {
			continue
		}
		if file, err := s.Open(f.Path); err == nil {
			return file
		}
	}
	return nil
}

// InDir implements files.Source.
func (s source) InDir(dir, buildID string) *elffile.File {
	for _, f := range s.bundle.Index.Files {
		if f.Path != dir && filepath.Dir(f.Path) != filepath.Clean(dir) {
			continue
		}
		if file := files.Named(files.WithBuildID(s, f.Path, buildID)); file != nil {
			return file
		}
	}
	return nil
}

func (s source) OpenMap(path string, _ []int) (io.ReadCloser, error) {
	f, err := s.find(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}
