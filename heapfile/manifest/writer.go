package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Writer appends records to a directory's sidecar, each in one write: whoever reads it at any moment, or after the
// writer was killed, finds whole records. It is for one goroutine. What the disk had no room for is
// kept, and written when there is room again.
type Writer struct {
	file    *os.File
	size    int64 // of whole records
	room    int64 // the file has blocks up to here
	pending []byte
}

// maxPending bounds what is kept for a full disk, in bytes.
const maxPending = 4 << 20

// Create starts the sidecar of a directory. It fails if there is one: snapshots of two recordings are not to be mixed.
func Create(dir string) (*Writer, error) {
	path := filepath.Join(dir, Name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s: there is a recording in this directory already: %w", path, os.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{file: f}
	if err := w.append(record{Schema: Schema}); err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// Recording says how the snapshots come to be.
func (w *Writer) Recording(r Recording) error { return w.append(record{Recording: &r}) }

// Process is called when a process image was first seen.
func (w *Writer) Process(p Process) error { return w.append(record{Process: &p}) }

// Snapshot is called when a snapshot is complete, and again if more is known of it: the last record of a file counts.
func (w *Writer) Snapshot(s Snapshot) error { return w.append(record{Snapshot: &s}) }

// Drop is called before a snapshot is removed.
func (w *Writer) Drop(d Drop) error { return w.append(record{Dropped: &d}) }

// Mapping is called when a file was first seen mapped.
func (w *Writer) Mapping(m Mapping) error { return w.append(record{Mapping: &m}) }

// File is called when a file was copied to the snapshots.
func (w *Writer) File(f File) error { return w.append(record{File: &f}) }

// End says how a process or the recording ended.
func (w *Writer) End(e End) error { return w.append(record{End: &e}) }

// Close writes what is pending and gives back reserved room.
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

// flush writes the pending records. A write that the disk took in part is undone.
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

// reserveStep is the room that is kept free for further records, in bytes: how a recording ended can be said even
// when snapshots have filled the disk.
const reserveStep = 64 << 10

func (w *Writer) reserve() {
	need := w.size + int64(len(w.pending)) + reserveStep/2
	if need > w.room && allocate(w.file, need+reserveStep) {
		w.room = need + reserveStep
	}
}
