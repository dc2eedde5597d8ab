package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Recorder records the parts of files that are read through the sources that Record returns. A
// machine that has these parts and nothing else finds the same names for the same addresses. The
// zero value is ready for use. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	files   map[string]*recorded
	fetches []Fetch
}

// Used is a file that was read.
type Used struct {
	Path string
	// Local is where its bytes are on this machine.
	Local   string
	Size    int64
	ModTime time.Time
	// Parts are the parts that were read, sorted and disjoint.
	Parts []elffile.Range
	// CRC is the CRC-32 of the file, nil if it was not requested.
	CRC *uint32
	// Err is why the file could not be used; such a file has no Parts.
	Err error
}

// Fetch is a file from a debuginfod server; Path is where it is kept.
type Fetch struct{ BuildID, Kind, Path string }

type recorded struct {
	local   string
	info    fs.FileInfo
	touched []*elffile.Touched
	crc     *uint32
	err     error
}

// Files returns the files that were read, sorted by path.
func (r *Recorder) Files() []Used {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Used
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[path]
		if f.info == nil && f.err == nil {
			continue // only its CRC was read, and it did not match
		}
		used := Used{Path: path, Local: f.local, CRC: f.crc, Err: f.err}
		if f.info != nil {
			used.Size, used.ModTime, used.Parts = f.info.Size(), f.info.ModTime(), elffile.Union(f.touched...)
		}
		out = append(out, used)
	}
	return out
}

// Fetches returns the files from debuginfod servers, each once, sorted.
func (r *Recorder) Fetches() []Fetch {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.fetches)
	slices.SortFunc(out, func(a, b Fetch) int {
		return slices.Compare([]string{a.BuildID, a.Kind, a.Path}, []string{b.BuildID, b.Kind, b.Path})
	})
	return slices.Compact(out)
}

// Record returns a Source that has the files of another one, and records what is read.
func (r *Recorder) Record(source Source) *Recording { return &Recording{source: source, recorder: r} }

// Recording is the Source that [Recorder.Record] returns.
type Recording struct {
	source   Source
	recorder *Recorder

	mu   sync.Mutex
	maps []string
}

// Maps returns the paths of the perf maps and jitdumps that were requested, in this order.
func (r *Recording) Maps() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.maps)
}

// Open implements [Source].
func (r *Recording) Open(path string) (*elffile.File, error) {
	file, err := r.source.Open(path)
	switch {
	case err == nil:
		r.recorder.opened(file)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // below a debug file
		r.recorder.update(path, func(f *recorded) { f.err = err })
	}
	return file, err
}

// CRC implements [Source].
func (r *Recording) CRC(path string) (uint32, error) {
	sum, err := r.source.CRC(path)
	if err == nil {
		r.recorder.update(path, func(f *recorded) { f.crc = &sum })
	}
	return sum, err
}

// Fetch implements [Source].
func (r *Recording) Fetch(ctx context.Context, buildID, kind string) *elffile.File {
	file := r.source.Fetch(ctx, buildID, kind)
	if file != nil {
		r.recorder.opened(file)
		r.recorder.fetched(Fetch{buildID, kind, file.Path})
	}
	return file
}

// InDir implements [Source].
func (r *Recording) InDir(dir, buildID string) *elffile.File {
	file := r.source.InDir(dir, buildID)
	if file != nil {
		r.recorder.opened(file)
	}
	return file
}

// OpenMap implements [Source].
func (r *Recording) OpenMap(path string, users []int) (io.ReadCloser, error) {
	file, err := r.source.OpenMap(path, users)
	if err == nil || users == nil { // a file that another user made is not part of the recording
		r.mu.Lock()
		r.maps = append(r.maps, path)
		r.mu.Unlock()
	}
	return file, err
}

func (r *Recorder) opened(file *elffile.File) {
	r.update(file.Path, func(f *recorded) {
		f.local, f.info, f.err = file.Local, file.Info, nil
		f.touched = append(f.touched, file.Record())
	})
}

// update changes what is known of a path.
func (r *Recorder) update(path string, change func(*recorded)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[path]
	if f == nil {
		if r.files == nil {
			r.files = map[string]*recorded{}
		}
		f = &recorded{}
		r.files[path] = f
	}
	change(f)
}

func (r *Recorder) fetched(f Fetch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetches = append(r.fetches, f)
}
