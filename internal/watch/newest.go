package watch

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// headSize is how much of a manifest is read for the start of the recording.
const headSize = 64 << 10

// newest returns the recording below a directory that started last. It returns the path itself if
// it is not a directory, has snapshots or a manifest itself, or no recording below it.
func newest(path string) string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return path
	}
	found, last := path, time.Time{}
	for _, e := range entries {
		if filename.OfSnapshots(e.Name()) || e.Name() == manifest.Name {
			return path
		}
		dir := filepath.Join(path, e.Name())
		if at := started(dir); at.After(last) {
			found, last = dir, at
		}
	}
	return found
}

// started returns when the recording in a directory started, or the zero time if there is none.
func started(dir string) time.Time {
	name := filepath.Join(dir, manifest.Name)
	f, _, err := infile.Open(name)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	m, err := manifest.Read(io.LimitReader(f, headSize), name)
	if err != nil || m.Recording == nil {
		return time.Time{}
	}
	return m.Recording.Started
}
