// Package expand turns a recording that holds many snapshots in one file into what a recorder
// leaves in a directory: one pprof profile per snapshot, and a manifest with their times and memory
// sizes. They are kept in a temporary file.
package expand

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptrack"
	"github.com/heaplapse/heaplapse/heapfile/internal/massif"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// DefaultSnapshots is the number of snapshots that are made of a recording that contains every
// allocation.
const DefaultSnapshots = 48

// File is a file that may be a recording.
type File struct {
	FS fs.FS
	// Entry is its name in FS; Path is its name in output.
	Entry, Path string
}

// Options control how a recording is read.
type Options struct {
	// Snapshots is the number of snapshots to make, if the recording contains every allocation. 0
	// means DefaultSnapshots.
	Snapshots int
	// Check, if not nil, is called for each MiB that is read, and while snapshots are made. Its
	// error ends the reading.
	Check func(more int64) error
}

// Expanded is a recording as files.
type Expanded struct {
	// Spool holds the files.
	Spool *spool.Spool
	// Paths are the snapshots in order: their names in Spool and in output.
	Paths []string
	// Positions are those of the snapshots on the axis of the recording, if that is not time: from
	// 0 to the number of snapshots minus 1. They are nil if the times are known.
	Positions []float64
	// PID is the process that was recorded, or 0 if the name of the file does not have it.
	PID      int
	Warnings []heapfile.Warning
}

// read reads a recording of one kind.
type read func(in io.Reader, name string, o Options, emit func(recording.Snapshot) error) (*recording.Recording, error)

// readerOf returns the reader of a file that begins like this, or nil.
func readerOf(head []byte) read {
	switch {
	case heaptrack.Begins(head):
		return func(in io.Reader, name string, o Options, emit func(recording.Snapshot) error) (*recording.Recording, error) {
			return heaptrack.Read(in, name, heaptrack.Options(o), emit)
		}
	case massif.Begins(head):
		return func(in io.Reader, name string, _ Options, emit func(recording.Snapshot) error) (*recording.Recording, error) {
			return massif.Read(in, name, emit)
		}
	}
	return nil
}

// Expand expands a file. It returns nil if the file is no recording, or cannot be read. The caller
// closes the Spool.
func Expand(f File, o Options) (*Expanded, error) {
	in, err := heapfile.Unpack(f.FS, f.Entry, f.Path, o.Check)
	if err != nil {
		return nil, nil // reading it as a snapshot gives the same error
	}
	defer in.Close()
	read := readerOf(in.Head)
	if read == nil {
		return nil, nil
	}
	if o.Snapshots == 0 {
		o.Snapshots = DefaultSnapshots
	}
	files, err := spool.New()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be expanded: %w", f.Path, err)
	}
	files.Limit = maxSpool
	w := writer{file: f, check: o.Check, out: Expanded{Spool: files, PID: pidOf(f.Path)}}
	what, err := read(in, f.Path, o, w.snapshot)
	if err == nil {
		err = w.manifest(what, in.Modified)
	}
	if err != nil {
		files.Close()
		return nil, err
	}
	w.out.Warnings = what.Warnings
	if !what.Timed {
		w.out.Positions = positions(w.snapshots)
	}
	return &w.out, nil
}

// positions returns the positions of snapshots in units of their mean distance.
func positions(snapshots []recording.Snapshot) []float64 {
	first, last := snapshots[0].Position, snapshots[len(snapshots)-1].Position
	out := make([]float64, len(snapshots))
	for i, s := range snapshots {
		out[i] = float64(i)
		if last > first {
			out[i] = float64(s.Position-first) / float64(last-first) * float64(len(snapshots)-1)
		}
	}
	return out
}

// maxSpool is the number of bytes that the snapshots of one recording may take on disk. That is
// more than 48 snapshots of a million stacks.
const maxSpool = 16 << 30

// writer writes the files of a recording.
type writer struct {
	file      File
	check     func(more int64) error // may be nil
	out       Expanded
	snapshots []recording.Snapshot
	buf       bytes.Buffer
}

// maxSnapshots limits the snapshots of a file: each takes time, and memory until all are read.
const maxSnapshots = 1 << 16

func (w *writer) snapshot(s recording.Snapshot) error {
	if len(w.snapshots) == maxSnapshots {
		return fmt.Errorf("%s: more than %d snapshots in one file are not read", w.file.Path, maxSnapshots)
	}
	if w.check != nil {
		if err := w.check(0); err != nil {
			return err
		}
	}
	w.buf.Reset()
	if err := s.Profile.WriteUncompressed(&w.buf); err != nil {
		return err
	}
	path := fmt.Sprintf("%s#%d", w.file.Path, len(w.snapshots)+1)
	if err := w.add(path, &w.buf); err != nil {
		return err
	}
	w.out.Paths = append(w.out.Paths, path)
	s.Profile = nil
	w.snapshots = append(w.snapshots, s)
	return nil
}

func (w *writer) add(path string, content io.Reader) error {
	if err := w.out.Spool.Add(path, time.Time{}, content); err != nil {
		return fmt.Errorf("%s: cannot be expanded: %w", w.file.Path, err)
	}
	return nil
}

// manifest writes the manifest, if the times are known. Recordings have times since the start of
// the program only: it is assumed that the file was modified when the program ended.
func (w *writer) manifest(r *recording.Recording, modified time.Time) error {
	if !r.Timed {
		return nil
	}
	if modified.IsZero() {
		modified = time.Unix(0, 0)
	}
	start := modified.Add(-w.snapshots[len(w.snapshots)-1].At).UTC()
	m := manifest.Manifest{
		Recording: &manifest.Recording{Started: start, Command: r.Command, Engine: r.Tool, Version: r.Version},
		Processes: []manifest.Process{{PID: w.out.PID, Started: start, Command: r.Command}},
	}
	for i, s := range w.snapshots {
		m.Snapshots = append(m.Snapshots, manifest.Snapshot{
			File: filepath.Base(w.out.Paths[i]), Time: start.Add(s.At), PID: w.out.PID, Trigger: "time", RSS: s.RSS,
		})
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	return w.add(filepath.Join(filepath.Dir(w.file.Path), manifest.Name), bytes.NewReader(text))
}

// pidOf returns the PID in the names that the tools choose: heaptrack.shop.4711.zst,
// massif.out.4711.
func pidOf(path string) int {
	name := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	name = strings.TrimSuffix(name, ".raw")
	pid, err := strconv.ParseUint(strings.TrimPrefix(filepath.Ext(name), "."), 10, 31)
	if err != nil {
		return 0
	}
	return int(pid)
}
