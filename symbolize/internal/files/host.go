package files

import (
	"context"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/symbolize/internal/debuginfod"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Host is the Source that reads this machine's files.
type Host struct {
	// VDSO is where the recorder kept its kernel's [vdso]; this machine's kernel may have another
	// one. There may be no such file.
	VDSO string
	// Debuginfod may be nil.
	Debuginfod *debuginfod.Client
}

// Open implements [Source].
func (h Host) Open(path string) (*elffile.File, error) {
	if path == VDSO {
		return elffile.OpenAs(path, h.VDSO)
	}
	return elffile.Open(path)
}

// CRC implements [Source].
func (h Host) CRC(path string) (uint32, error) {
	file, _, err := infile.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, file)
	return sum.Sum32(), err
}

// Fetch implements [Source].
func (h Host) Fetch(ctx context.Context, buildID, kind string) *elffile.File {
	return h.Debuginfod.Find(ctx, buildID, kind)
}

// mostPrograms is the number of files of a directory that are opened besides *.debug, for each module.
const mostPrograms = 500

// InDir implements [Source].
func (h Host) InDir(dir, buildID string) *elffile.File {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return Named(WithBuildID(h, dir, buildID))
	}
	entries, _ := os.ReadDir(dir)
	programs := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".debug" {
			if programs++; e.IsDir() || programs > mostPrograms {
				continue
			}
		}
		if file := Named(WithBuildID(h, filepath.Join(dir, e.Name()), buildID)); file != nil {
			return file
		}
	}
	return nil
}

// OpenMap implements [Source].
func (h Host) OpenMap(path string, users []int) (io.ReadCloser, error) {
	if users == nil {
		return os.Open(path)
	}
	f, _, err := infile.OpenOwned(path, users...)
	if err != nil {
		return nil, err
	}
	return f, nil
}
