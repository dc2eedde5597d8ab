package massif

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
)

// reader reads a file.
type reader struct {
	lines  *recording.Lines
	warn   recording.Warnings
	out    recording.Recording
	tables *recording.Tables
	// places are the locations of addresses; hidden is that of callers below the threshold.
	places map[string]*profile.Location
	emit   func(recording.Snapshot) error

	at int64 // since the start, in the unit of the file
	// instructions is set if that is the number of instructions, most of which may be of the start.
	instructions bool
	heap         int64 // its bytes in use
	trees        int
	all          int // snapshots, those without a tree included
}

// Read reads a file, decompressed, and calls emit with each of its snapshots that has a tree. name
// is the name of the file in errors.
func Read(in io.Reader, name string, emit func(recording.Snapshot) error) (*recording.Recording, error) {
	r := &reader{
		lines:  recording.NewLines(in, name),
		warn:   recording.Warnings{File: name},
		out:    recording.Recording{Tool: "massif"},
		tables: recording.NewTables("massif", "inuse_space", "bytes"),
		places: map[string]*profile.Location{},
		emit:   emit,
	}
	for {
		line, err := r.lines.Next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err == nil {
			err = r.line(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// line handles a line outside of a tree.
func (r *reader) line(line []byte) error {
	key, value := string(line), ""
	if i := strings.IndexAny(key, ":="); i >= 0 {
		key, value = key[:i], strings.TrimPrefix(key[i+1:], " ")
	}
	switch key {
	case "cmd":
		r.out.Command = strings.Fields(value)
	case "time_unit":
		r.out.Timed, r.instructions = value == "ms", value == "i"
	case "desc":
		r.tables.DepthLimit(depthLimit(value))
	case "snapshot":
		r.all++
	case "time":
		return r.time(value)
	case "mem_heap_B":
		return r.number(value, &r.heap)
	case "heap_tree":
		return r.tree(value)
	case "mem_heap_extra_B", "mem_stacks_B", "#-----------", "":
	default:
		r.warn.Add(heapfile.WarnMalformedRow, r.lines.Number, fmt.Sprintf("a line of unknown kind %q was skipped", key))
	}
	return nil
}

// depthLimit returns the number of frames of a stack that massif keeps with these options.
//
//	--time-unit=ms --depth=40  →  40
func depthLimit(options string) int {
	limit := 30
	for _, o := range strings.Fields(options) {
		if text, found := strings.CutPrefix(o, "--depth="); found {
			if n, err := strconv.ParseUint(text, 10, 16); err == nil {
				limit = int(n)
			}
		}
	}
	return limit
}

func (r *reader) number(text string, into *int64) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return r.lines.Errorf("%q is not a number", text)
	}
	*into = int64(n)
	return nil
}

// maxTime is the latest time, in milliseconds: a century.
const maxTime = 100 * 366 * 24 * 3600 * 1000

func (r *reader) time(text string) error {
	before := r.at
	if err := r.number(text, &r.at); err != nil {
		return err
	}
	switch {
	case r.out.Timed && r.at > maxTime:
		return r.lines.Errorf("the time is later than any program runs")
	case r.at < before:
		r.warn.Add(heapfile.WarnClock, r.lines.Number, "a time before that of an earlier snapshot was ignored")
		r.at = before
	}
	return nil
}

// tree reads the tree of a snapshot.
func (r *reader) tree(kind string) error {
	if kind == "empty" {
		return nil
	}
	t := tree{reader: r}
	for {
		line, err := r.lines.Next()
		if errors.Is(err, io.EOF) {
			r.lines.Truncated = true
			return nil // the snapshot is left out
		}
		if err != nil {
			return err
		}
		done, err := t.line(line)
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	if t.total != r.heap {
		r.warn.Add(heapfile.WarnHeaderMismatch, r.lines.Number,
			fmt.Sprintf("the tree has %d bytes, but mem_heap_B is %d", t.total, r.heap))
	}
	r.trees++
	s := recording.Snapshot{Position: r.at, Profile: r.tables.Profile(t.samples)}
	if r.out.Timed {
		s.At = time.Duration(r.at) * time.Millisecond
	}
	return r.emit(s)
}

// location returns the location of an address with its functions.
func (r *reader) location(n node, frames []recording.FrameName) *profile.Location {
	var key strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&key, "%s\x00%s\x00%d\x00", f.Function, f.File, f.Line)
	}
	key.WriteString(n.module)
	l := r.places[key.String()]
	if l == nil {
		l = r.tables.Location(n.address, n.module, frames)
		r.places[key.String()] = l
	}
	return l
}

// finish adds the warnings about the file as a whole.
func (r *reader) finish() (*recording.Recording, error) {
	const flags = "record with --detailed-freq=1 --threshold=0 --time-unit=B --fullpath-after="
	if r.trees == 0 {
		return nil, &heapfile.FormatError{File: r.warn.File, Kind: "a massif file without a detailed snapshot", Hint: flags}
	}
	if r.lines.Truncated {
		r.warn.Add(heapfile.WarnUnfinished, r.lines.Number,
			"the file ends early: it is still being written or was truncated; what follows is missing")
	}
	if r.instructions || r.hides() || 2*r.trees < r.all {
		r.warn.Add(heapfile.WarnRecording, 0, fmt.Sprintf("%d of %d snapshots have a tree; for all of them, with all callers "+
			"and bytes instead of instructions, %s", r.trees, r.all, flags))
	}
	r.out.Warnings = r.warn.List
	return &r.out, nil
}

func (r *reader) hides() bool {
	for key := range r.places {
		if strings.HasPrefix(key, recording.Hidden) {
			return true
		}
	}
	return false
}

// Begins reports whether a file that begins like this is one of massif.
func Begins(head []byte) bool { return bytes.HasPrefix(head, []byte("desc: ")) }
