package heaptrack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
)

// newest is the newest format that is known.
const newest = 3

// reader replays a recording.
type reader struct {
	tables
	heap
	timeline
	check func(more int64) error
	lines *recording.Lines
	warn  recording.Warnings
	out   recording.Recording

	raw    bool
	format uint64
	page   int64
	now    time.Duration
	rss    *int64 // at that time
	timed  bool
}

// Options control how a recording is read.
type Options struct {
	// Snapshots is the number of snapshots to make, at least 1.
	Snapshots int
	// Check, if not nil, is called for each 4,096 stacks of a snapshot. Its error ends the reading.
	Check func(more int64) error
}

// Read reads a recording, decompressed, and calls emit with each of its snapshots: as many as asked
// for, evenly spaced, or fewer if the recording is shorter; the last one is the end. name is the
// name of the file in errors.
func Read(in io.Reader, name string, o Options, emit func(recording.Snapshot) error) (*recording.Recording, error) {
	r := &reader{
		check:    o.Check,
		tables:   newTables(),
		heap:     newHeap(),
		timeline: timeline{want: max(o.Snapshots, 1), interval: time.Millisecond},
		lines:    recording.NewLines(in, name),
		warn:     recording.Warnings{File: name},
		out:      recording.Recording{Tool: "heaptrack"},
		page:     4096,
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	r.end()
	if err := r.emit(emit); err != nil {
		return nil, err
	}
	r.out.Timed = r.timed
	r.out.Warnings = r.warn.List
	return &r.out, nil
}

func (r *reader) read() error {
	for {
		line, err := r.lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && len(line) > 0 {
			err = r.line(line)
		}
		if err != nil {
			return err
		}
	}
}

// line handles one line.
func (r *reader) line(line []byte) error {
	f := fields{line[min(2, len(line)):]}
	switch line[0] {
	case '+':
		return r.allocation(f)
	case '-':
		return r.free(f)
	case 'a':
		return r.addKind(f)
	case 't':
		return r.addStack(f)
	case 'i':
		return r.addCall(f)
	case 's':
		return r.addString(f)
	case 'c':
		return r.stamp(f)
	case 'R':
		return r.resident(f)
	case 'm':
		return r.addModule(f)
	default:
		return r.header(line[0], f)
	}
}

// header handles the lines that occur once.
func (r *reader) header(kind byte, f fields) error {
	switch kind {
	case 'v':
		return r.version(f)
	case 'X':
		r.out.Command = strings.Fields(string(f.rest))
	case 'x':
		r.raw = true
		r.exe, _ = r.name(&f)
	case 'I':
		if size, ok := f.number(); ok && size > 0 && size <= 1<<30 {
			r.page = int64(size)
		}
	case '#', 'S', 'A': // a comment, a suppression, "attached"
	default:
		r.warn.Add(heapfile.WarnMalformedRow, r.lines.Number, fmt.Sprintf("a line of unknown kind %q was skipped", kind))
	}
	return nil
}

// version reads `v VERSION [FORMAT]`.
func (r *reader) version(f fields) error {
	version, ok := f.number()
	if !ok {
		return r.malformed("a version")
	}
	r.format, ok = f.number()
	if !ok && version == 0x010200 {
		r.format = 1 // a version that was never released wrote format 1 without a number
	}
	r.out.Version = fmt.Sprintf("%d.%d.%d", version>>16&0xff, version>>8&0xff, version&0xff)
	if r.format > newest {
		return r.lines.Errorf("format %d of heaptrack %s is not supported; the newest known one is %d",
			r.format, r.out.Version, newest)
	}
	return nil
}

// allocation reads `+ KIND`, or `+ SIZE STACK POINTER`.
func (r *reader) allocation(f fields) error {
	if r.raw || r.format == 0 {
		return r.allocationAt(f)
	}
	n, ok := f.number()
	switch {
	case !ok:
		return r.malformed("the kind of an allocation")
	case n >= uint64(len(r.kinds)):
		return r.undefined("kind of allocation", n)
	}
	return r.count(r.kinds[n])
}

func (r *reader) allocationAt(f fields) error {
	var size, stack, pointer uint64
	if !f.numbers(&size, &stack, &pointer) {
		return r.malformed("size, stack and pointer")
	}
	k, err := r.kind(size, stack)
	if err != nil {
		return err
	}
	r.live[pointer] = k
	return r.count(k)
}

func (r *reader) count(k kind) error {
	if !r.allocate(k) {
		return r.lines.Errorf("the sum of all allocations has more than 63 bits")
	}
	return nil
}

// free reads `- KIND`, or `- POINTER`. A pointer is unknown if it was allocated before heaptrack
// was attached.
func (r *reader) free(f fields) error {
	n, ok := f.number()
	if !ok {
		return r.malformed("what is freed")
	}
	if r.raw || r.format == 0 {
		if k, ok := r.live[n]; ok {
			delete(r.live, n)
			r.heap.free(k)
		}
		return nil
	}
	if n >= uint64(len(r.kinds)) {
		return r.undefined("kind of allocation", n)
	}
	if !r.heap.free(r.kinds[n]) {
		return r.lines.Errorf("frees an allocation that is not in use")
	}
	return nil
}

// stamp reads `c TIME`.
func (r *reader) stamp(f fields) error {
	ms, ok := f.number()
	if !ok || ms > maxTime {
		return r.malformed("a time")
	}
	at := time.Duration(ms) * time.Millisecond
	if at < r.now {
		r.warn.Add(heapfile.WarnClock, r.lines.Number, "a time before that of an earlier line was ignored")
		return nil
	}
	r.now, r.timed = at, true
	if r.rss = nil; r.due(at) {
		r.add(r.checkpoint(at))
		r.limit()
	}
	return nil
}

// maxTime is the latest time in milliseconds: a century.
const maxTime = 100 * 366 * 24 * 3600 * 1000

// resident reads `R PAGES`, which follows a time stamp.
func (r *reader) resident(f fields) error {
	pages, ok := f.number()
	if !ok || pages > maxSize/uint64(r.page) {
		return r.malformed("a number of pages")
	}
	bytes := int64(pages) * r.page
	r.rss = &bytes
	if n := len(r.checkpoints); n > 0 && r.checkpoints[n-1].at == r.now {
		r.checkpoints[n-1].rss = r.rss
	}
	return nil
}

// end adds the state at the end and drops what is more than asked for.
func (r *reader) end() {
	last := r.checkpoint(r.now)
	last.rss = r.rss
	if n := len(r.checkpoints); n > 0 && r.checkpoints[n-1].at == r.now {
		last.changes = merge(r.checkpoints[n-1].changes, last.changes)
		r.checkpoints = r.checkpoints[:n-1]
	}
	r.add(last)
	r.thin()
	if r.lines.Truncated {
		r.warn.Add(heapfile.WarnUnfinished, r.lines.Number,
			"the recording ends early: it is still being written or was truncated; what follows is missing")
	}
}

func (r *reader) malformed(want string) error {
	return r.lines.Errorf("malformed line: %s expected", want)
}

// undefined is the error of a number in a table that has fewer entries yet.
func (r *reader) undefined(what string, n uint64) error {
	return r.lines.Errorf("%s %d does not exist: the recording is damaged", what, n)
}

// Begins reports whether a file that begins like this is a recording.
func Begins(head []byte) bool {
	f := fields{bytes.TrimPrefix(head, []byte("v "))}
	if line, _, ok := bytes.Cut(f.rest, []byte("\n")); ok && len(f.rest) < len(head) {
		f.rest = line
		_, ok = f.number()
		return ok
	}
	return false
}
