package bundle

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// OptionsWith returns Options, with files of this machine that here names. They complement the bundle: a program,
// debug directories, servers and perf maps are used as for snapshots that are not in a bundle, and Sysroot has the
// files that the bundle lacks. Demangle is that of here.
func (b *Bundle) OptionsWith(p series.Process, here symbolize.Options) symbolize.Options {
	o := b.Options(p)
	o.Binary = cmp.Or(here.Binary, o.Binary)
	o.DebugDirs = append(o.DebugDirs, here.DebugDirs...)
	o.PerfMaps = append(o.PerfMaps, here.PerfMaps...)
	o.Demangle = here.Demangle
	o.Files = complemented{source{b}, files.Host{Debuginfod: here.Debuginfod}, here}
	return o
}

// complemented implements files.Source with the files of a bundle, and with those of this machine that the user named.
// Other files of this machine are ignored: they may be other builds.
type complemented struct {
	bundle source
	host   files.Host
	here   symbolize.Options
}

// named reports whether the user named a file, or a directory above it, or whether it is a debug file beside the
// program that the user named.
func (c complemented) named(path string) bool {
	return path == c.here.Binary || path == c.here.Binary+".debug" || slices.Contains(c.here.PerfMaps, path) ||
		slices.ContainsFunc(c.here.DebugDirs, func(dir string) bool {
			below, err := filepath.Rel(dir, path)
			return err == nil && filepath.IsLocal(below)
		})
}

// inSysroot returns where a file of the recorded machine is below the directory that the user named.
func (c complemented) inSysroot(path string) string {
	return filepath.Join(c.here.Sysroot, strings.TrimPrefix(path, filepath.Clean(c.bundle.bundle.Index.Search.Sysroot)))
}

func (c complemented) Open(path string) (*elffile.File, error) {
	if c.named(path) {
		if file, err := c.host.Open(path); err == nil {
			return file, nil
		}
	}
	file, err := c.bundle.Open(path)
	if c.here.Sysroot != "" && errors.Is(err, fs.ErrNotExist) {
		return c.host.Open(c.inSysroot(path))
	}
	return file, err
}

func (c complemented) CRC(path string) (uint32, error) {
	if c.named(path) {
		if sum, err := c.host.CRC(path); err == nil {
			return sum, nil
		}
	}
	return c.bundle.CRC(path)
}

func (c complemented) Fetch(ctx context.Context, buildID, kind string) *elffile.File {
	if file := c.bundle.Fetch(ctx, buildID, kind); file != nil {
		return file
	}
	return c.host.Fetch(ctx, buildID, kind)
}

func (c complemented) InDir(dir, buildID string) *elffile.File {
	if slices.Contains(c.here.DebugDirs, dir) {
		if file := c.host.InDir(dir, buildID); file != nil {
			return file
		}
	}
	return c.bundle.InDir(dir, buildID)
}

func (c complemented) OpenMap(path string, users []int) (io.ReadCloser, error) {
	if c.named(path) {
		return c.host.OpenMap(path, users)
	}
	return c.bundle.OpenMap(path, users)
}
