package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/internal/infile"
)

// Writer appends records to the manifest of a directory. Each record is one write, so a reader
// finds whole records at any time, even if the writer is killed. If the disk is full, the Writer
// keeps records in memory and writes them when there is space again. A Writer is not safe for
// concurrent use.
type Writer struct {
	file     *os.File
	size     int64  // size of the complete records in the file
	reserved int64  // disk blocks are allocated up to this offset
	pending  []byte // records that are not written yet
}

// maxPending is the maximum size of the pending records, in bytes.
const maxPending = 4 << 20

// Create creates the manifest of a directory. It returns an error if the directory has one: two
// recordings must not share a directory.
func Create(dir string) (*Writer, error) {
	path := filepath.Join(dir, Name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s: the directory already holds a recording: %w", path, os.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	lock(f) // see Busy
	w := &Writer{file: f}
	if err := w.append(record{Schema: Schema}); err != nil {
		f.Close()
		_ = os.Remove(path) // it is empty
		return nil, err
	}
	return w, nil
}

// Busy reports whether a process writes the manifest of a directory.
func Busy(dir string) bool {
	f, _, err := infile.Open(filepath.Join(dir, Name))
	if err != nil {
		return false
	}
	defer f.Close()
	return !lock(f)
}

// Recording is called once, before the program starts.
func (w *Writer) Recording(r Recording) error { return w.append(record{Recording: &r}) }

// Process is called when the first snapshot of a process image appears.
func (w *Writer) Process(p Process) error { return w.append(record{Process: &p}) }

// Snapshot is called when a snapshot is complete, and again to change its record. The last record
// of a file is valid.
func (w *Writer) Snapshot(s Snapshot) error { return w.append(record{Snapshot: &s}) }

// Drop is called before a snapshot is removed.
func (w *Writer) Drop(d Drop) error { return w.append(record{Dropped: &d}) }

// Mapping is called when a mapped file is seen for the first time.
func (w *Writer) Mapping(m Mapping) error { return w.append(record{Mapping: &m}) }

// File is called when a file was copied into the directory.
func (w *Writer) File(f File) error { return w.append(record{File: &f}) }

// Problem is called for each problem that the engine reported, when the program has ended.
func (w *Writer) Problem(p Problem) error { return w.append(record{Problem: &p}) }

// Gap is called when a service answers again, and at the end if it does not.
func (w *Writer) Gap(g Gap) error { return w.append(record{Gap: &g}) }

// End is called when a process or the recording has ended.
func (w *Writer) End(e End) error { return w.append(record{End: &e}) }

// Close writes the pending records and releases reserved disk blocks.
func (w *Writer) Close() error {
	err := w.flush()
	return errors.Join(err, w.file.Truncate(w.size), w.file.Close())
}

func (w *Writer) append(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(w.pending)+len(line) < maxPending {
		w.pending = append(append(w.pending, line...), '\n')
	}
	return w.flush()
}

// flush writes the pending records. It undoes a partial write.
func (w *Writer) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	w.reserve()
	if _, err := w.file.Write(w.pending); err != nil {
		return errors.Join(err, w.file.Truncate(w.size))
	}
	w.size += int64(len(w.pending))
	w.pending = w.pending[:0]
	return nil
}

// reserveStep is the size of the disk space that reserve allocates, in bytes.
const reserveStep = 64 << 10

// reserve allocates disk space for further records, so that the end of a recording can be written
// even if snapshots have filled the disk.
func (w *Writer) reserve() {
	need := w.size + int64(len(w.pending)) + reserveStep/2
	if need > w.reserved && allocate(w.file, need+reserveStep) {
		w.reserved = need + reserveStep
	}
}
