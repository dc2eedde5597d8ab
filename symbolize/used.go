package symbolize

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Files are files of another machine, by the paths that they had there.
type Files interface {
	// Find returns where the bytes of a file are on this machine. The error wraps [fs.ErrNotExist] if the file was not used
	// there, and says what was wrong with one that could not be.
	Find(path string) (local string, err error)
	// CRC is the CRC-32 of the whole file, of which not all may be here.
	CRC(path string) (uint32, error)
	// Fetched is the path of the file that a debuginfod server had, "" for none; kind is "debuginfo" or "executable".
	Fetched(buildID, kind string) (path string)
}

// Range is a part of a file, in bytes.
type Range = elffile.Range

// Used is what names were taken from: which parts of which files. A machine that has these and nothing else gives the
// same names to the same addresses. The zero value is ready; a nil one learns nothing. It is safe for concurrent use.
type Used struct {
	mu      sync.Mutex
	files   map[string]*usedFile
	fetches []Fetch
	maps    []string
}

// UsedFile is one file.
type UsedFile struct {
	Path    string
	Size    int64
	ModTime time.Time
	// Parts are what was read of it, in order and disjoint.
	Parts []Range
	// CRC is that of the whole file, nil where nobody asked for it.
	CRC *uint32
	// Err is why the file could not be used; it has no Parts then.
	Err error
}

// Fetch is a file that came from a debuginfod server: Path is where it is kept.
type Fetch struct{ BuildID, Kind, Path string }

type usedFile struct {
	info    fs.FileInfo
	touched []*elffile.Touched
	crc     *uint32
	err     error
}

// file returns the entry of a path. The lock is held.
func (u *Used) file(path string) *usedFile {
	f, ok := u.files[path]
	if !ok {
		if u.files == nil {
			u.files = map[string]*usedFile{}
		}
		f = &usedFile{}
		u.files[path] = f
	}
	return f
}

// opened notes a file that was opened, or why it could not be. One that does not exist is not noted.
func (u *Used) opened(path string, file *elffile.File, touched *elffile.Touched, err error) {
	if reasonOf(err) == ReasonMissing {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.file(path)
	if f.err = err; err == nil {
		f.info = file.Info
		f.touched = append(f.touched, touched)
	}
}

func (u *Used) summed(path string, crc uint32) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.file(path).crc = &crc
}

func (u *Used) fetched(buildID, kind, path string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fetches = append(u.fetches, Fetch{buildID, kind, path})
}

// generated notes a perf map or jitdump.
func (u *Used) generated(path string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.maps = append(u.maps, path)
}

// Merge adds what another one learnt.
func (u *Used) Merge(other *Used) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for path, f := range other.files {
		mine := u.file(path)
		mine.touched = append(mine.touched, f.touched...)
		mine.info, mine.err = cmp.Or(f.info, mine.info), cmp.Or(f.err, mine.err)
		if f.crc != nil {
			mine.crc = f.crc
		}
	}
	u.fetches = append(u.fetches, other.fetches...)
	u.maps = append(u.maps, other.maps...)
}

// Files are the files that were read, sorted by path. It is to be called once names are resolved.
func (u *Used) Files() []UsedFile {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []UsedFile
	for _, path := range slices.Sorted(maps.Keys(u.files)) {
		f := u.files[path]
		if f.info == nil && f.err == nil {
			continue // only its CRC was of interest, and did not agree
		}
		used := UsedFile{Path: path, CRC: f.crc, Err: f.err}
		if f.info != nil {
			used.Size, used.ModTime, used.Parts = f.info.Size(), f.info.ModTime(), elffile.Union(f.touched...)
		}
		out = append(out, used)
	}
	return out
}

// Fetches are the files that came from debuginfod servers, each once, sorted.
func (u *Used) Fetches() []Fetch {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := slices.Clone(u.fetches)
	slices.SortFunc(out, func(a, b Fetch) int {
		return slices.Compare([]string{a.BuildID, a.Kind, a.Path}, []string{b.BuildID, b.Kind, b.Path})
	})
	return slices.Compact(out)
}

// PerfMaps are the perf maps and jitdumps that were read, in the order in which they are asked.
func (u *Used) PerfMaps() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.maps)
}
