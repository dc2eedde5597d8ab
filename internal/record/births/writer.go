//go:build linux

package births

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// Writer writes a snapshot, and behind each row when its memory was allocated. The first comment has all moments, so
// that a reader knows between which ones what the others have was allocated.
type Writer struct {
	Out io.Writer
	// Take returns that. It is called once, with the period in the first line; nil: it is not known.
	Take func(period int64) *Births

	births *Births
	begun  bool
	told   bool   // a comment has all moments
	done   bool   // there are no more rows
	rest   []byte // a line that is not whole
}

// maxRest limits a line: a longer one is no row.
const maxRest = 1 << 20

// Write writes a part of the snapshot.
func (w *Writer) Write(b []byte) (int, error) {
	n := len(b)
	if w.done {
		return w.Out.Write(b)
	}
	w.rest = append(w.rest, b...)
	var out []byte
	for !w.done {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		out = w.line(append(out, w.rest[:i+1]...), w.rest[:i])
		w.rest = w.rest[i+1:]
	}
	if w.done || len(w.rest) > maxRest {
		w.done = true
		out = append(out, w.rest...)
		w.rest = nil
	}
	if len(out) > 0 {
		if _, err := w.Out.Write(out); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Flush writes what is left of a snapshot that does not end with a whole line.
func (w *Writer) Flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.Out.Write(w.rest)
	w.rest = nil
	return err
}

// line appends to out what belongs behind a line.
func (w *Writer) line(out, line []byte) []byte {
	if !w.begun {
		w.begun = true
		period, ok := periodOf(line)
		if ok {
			w.births = w.Take(period)
		}
		w.done = w.births == nil
		return out
	}
	counts, stack, ok := bytes.Cut(line, []byte(" @ "))
	if !ok {
		w.done = len(line) > 0 // the mappings begin
		return out
	}
	inuse, _, _ := strings.Cut(string(counts), "[")
	objects, size, _ := strings.Cut(inuse, ":")
	n, err1 := strconv.ParseInt(strings.TrimSpace(objects), 10, 64)
	b, err2 := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	if err1 != nil || err2 != nil {
		return out
	}
	born := w.births.row(string(stack), n, b)
	if len(born) == 0 {
		return out
	}
	if !w.told {
		born, w.told = w.births.withAll(born), true
	}
	return append(out, born.String()...)
}

// periodOf returns the period in the first line of a snapshot: "heap profile: … @ heapprofile/131072".
func periodOf(line []byte) (int64, bool) {
	_, text, ok := strings.Cut(string(line), "@ heapprofile/")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
