package heapfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/heaplapse/heaplapse/heapfile/internal/grow"
	"github.com/heaplapse/heaplapse/heapfile/internal/intern"
)

// Decoder reads one file after another. It remembers the stacks and mappings of earlier files,
// which later ones repeat, so that it reads a series many times faster than [ReadFile] does. The
// zero value is ready to use. A Decoder is not safe for concurrent use.
type Decoder struct {
	// Check, if not nil, is called for each MiB that is read, and before much memory is used. Its
	// error ends the file; the error of ReadFile wraps it.
	Check func(more int64) error
	// Merge adds the rows of one stack, unless they are samples that must be scaled one by one.
	// Head.Rows counts the rows of the file in any case.
	Merge bool
	// Births reads when memory was allocated, where the file has it.
	Births bool

	lines   lineReader
	profile profileReader
	set     intern.Set[Addr]
	texts   intern.Texts // text of a stack → its number
	rowOf   []uint32     // stack → the position of a row of it; may be that in another file
	maps    mapsReader
	scratch []Addr
	once    bool     // only one file is read, so texts are not remembered
	spare   []Sample // memory for the next snapshot's rows, or nil

	snap *Snapshot
	rows rowReader
	warn warnings

	// Line numbers of the header, the last row, the first row at the depth limit and the first row
	// without a stack; 0 if there is none.
	headerLine, rowLine, deepLine, emptyLine int

	pending []byte // the last row, until what follows shows whether it is whole
	goText  bool   // Go's statistics follow the rows, instead of mappings
	at      int    // line number of the row being decoded
	row     int    // the position of the last row; -1 if it was merged

	full     bool  // maxRows was reached
	noRoom   error // of Check, when the rows needed more memory
	smallest int64 // the smallest in-use bytes of a row, except 0; -1 if there is none
	previous int64 // in-use bytes of the previous row
}

// Caps that no real snapshot reaches. Without them a small compressed file could need any amount of
// memory.
const (
	maxRows     = 1 << 25
	maxMappings = 1 << 20
	maxThreads  = 1 << 20
)

// decode reads one file. The samples refer to the decoder's stacks. On error the snapshot is nil.
func (d *Decoder) decode(r io.Reader, path string) (*Snapshot, error) {
	d.lines.reset(r)
	d.begin(path)
	err := d.preamble()
	if err == nil {
		err = d.body()
	}
	if err != nil {
		return nil, err
	}
	d.snap.Size = d.lines.size
	d.finish()
	return d.snap, nil
}

// begin starts a new snapshot.
func (d *Decoder) begin(path string) {
	d.warn, d.full, d.noRoom = warnings{file: path}, false, nil
	d.smallest, d.previous = -1, 1<<63-1
	d.headerLine, d.rowLine, d.deepLine, d.emptyLine, d.at, d.goText = 0, 0, 0, 0, 0, false
	d.snap = &Snapshot{Head: Head{Path: path}, Samples: d.spare[:0]}
	d.spare = nil
	d.snap.Completeness.Sorted = true
}

// errorf returns a SyntaxError at the current line.
func (d *Decoder) errorf(format string, args ...any) error {
	return &SyntaxError{File: d.snap.Path, Line: d.lines.number, Msg: fmt.Sprintf(format, args...)}
}

// endsEarly reports whether err means that a compressed file is truncated. The data before is
// valid.
func endsEarly(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

// readError returns the error of the reader, if that is why the lines ended.
func (d *Decoder) readError() error {
	if d.lines.err == nil || errors.Is(d.lines.err, io.EOF) || endsEarly(d.lines.err) {
		return nil
	}
	return &SyntaxError{File: d.snap.Path, Line: d.lines.number, Msg: "read failed", Err: d.lines.err}
}

// preamble reads up to and including the header: the writer's %warn lines and
// a `--- symbol` section may precede it.
func (d *Decoder) preamble() error {
	wrapped := false
	for {
		line, ok := d.lines.next()
		switch {
		case !ok:
			return d.endInPreamble()
		case bytes.HasPrefix(line, []byte("%warn")):
			d.writerWarning(bytes.TrimSpace(line[len("%warn"):]))
		case bytes.Equal(line, []byte("--- symbol")):
			if err := d.symbols(); err != nil {
				return err
			}
		case isProfileMarker(line):
			wrapped = true
		default:
			err := d.header(line)
			var format *FormatError
			if wrapped && errors.As(err, &format) {
				format.Kind, format.Hint = "a symbolized profile of another kind", "open it with `pprof`"
			}
			return err
		}
	}
}

// writerWarning joins the text of %warn lines into one message.
func (d *Decoder) writerWarning(text []byte) {
	const longest = 500
	if len(text) == 0 {
		return
	}
	for i := range d.warn.list {
		if w := &d.warn.list[i]; w.Kind == WarnWriter {
			if len(w.Msg) < longest {
				w.Msg += " " + string(clip(text))
			}
			return
		}
	}
	d.warn.add(WarnWriter, d.lines.number, "the writer says: %s", clip(text))
}

func (d *Decoder) endInPreamble() error {
	if err := d.readError(); err != nil {
		return err
	}
	return &FormatError{File: d.snap.Path, Kind: "it ends before its header line",
		Hint: "the process or the disk ended while it was written; remove it or record again"}
}

// isProfileMarker recognizes the line before a wrapped profile: `--- heap` or `--- growth`, and
// `--- profile`, which perl pprof writes for any kind.
func isProfileMarker(line []byte) bool {
	switch string(line) {
	case "--- heap", "--- growth", "--- profile":
		return true
	}
	return false
}

func (d *Decoder) header(line []byte) error {
	d.headerLine = d.lines.number
	if period, ok := bytes.CutPrefix(line, []byte("heap_v2/")); ok {
		n, err := strconv.ParseInt(string(bytes.TrimSpace(period)), 10, 64)
		if err != nil || n < 0 {
			return d.errorf("the sampling period %q is not a number", clip(period))
		}
		d.snap.Format, d.snap.Period, d.snap.DepthLimit = FormatJemalloc, n, FormatJemalloc.DepthLimit()
		d.rows = newRowReader(FormatJemalloc)
		return nil
	}
	h, ok := parseHeader(line)
	if !ok {
		return refuse(d.snap.Path, line)
	}
	d.snap.Format, d.snap.Period, d.snap.DepthLimit = h.format, h.period, h.format.DepthLimit()
	d.snap.Total, d.snap.HasTotal = h.total, h.hasTotal
	d.rows = newRowReader(h.format)
	return nil
}

// symbols reads a `--- symbol` section up to its `---`:
//
//	binary=/usr/bin/program
//	0x0000000000401234 caller--inlined
//	---
func (d *Decoder) symbols() error {
	for {
		line, ok := d.lines.next()
		if !ok {
			return d.endInPreamble()
		}
		if bytes.Equal(line, []byte("---")) {
			return nil
		}
		if bytes.HasPrefix(line, []byte("binary=")) {
			continue
		}
		addr, rest, ok := parseAddr(line)
		if !ok {
			d.warn.add(WarnMalformedRow, d.lines.number, "skipped a malformed symbol line: %q", clip(line))
			continue
		}
		if len(d.snap.Symbols) >= maxRows {
			return d.errorf("more than %d symbols: the file is damaged", maxRows)
		}
		d.snap.Symbols = append(d.snap.Symbols, Symbol{Addr: addr, Frames: splitNames(rest)})
	}
}

// splitNames splits ` caller--inlined` into its functions and puts the inlined ones first.
func splitNames(b []byte) []FrameName {
	var frames []FrameName
	for _, n := range bytes.Split(bytes.TrimSpace(b), []byte("--")) {
		if n = bytes.TrimSpace(n); len(n) > 0 {
			frames = append(frames, FrameName{Function: string(n)})
		}
	}
	slices.Reverse(frames)
	return frames
}

// body reads rows and mappings. It decodes each row one line late, because what follows shows
// whether the row is whole: gperftools 2.15 and older fills its 1 MiB buffer address by address,
// and if the buffer is full within a row, the blank line before MAPPED_LIBRARIES is missing.
func (d *Decoder) body() error {
	d.pending = d.pending[:0]
	complete := false
	for !complete {
		line, ok := d.lines.next()
		if !ok {
			break
		}
		if d.lines.long {
			d.warn.add(WarnLongLine, d.lines.number, "skipped a line of more than %d bytes", maxLine)
			continue
		}
		if complete = isMapsSentinel(line); complete && d.swallows(line) {
			break // the last row stays pending
		}
		d.pendingRow()
		if !complete {
			d.bodyLine(line)
		}
		if d.noRoom != nil {
			return &SyntaxError{File: d.snap.Path, Line: d.lines.number, Msg: "read failed", Err: d.noRoom}
		}
		if d.full {
			return d.errorf("more than %d rows: no allocator writes that many; the file is damaged", maxRows)
		}
	}
	if complete {
		d.mappings()
		if len(d.pending) > 0 && !d.lastRowWhole() {
			d.snap.Completeness.Truncated = true
			d.rows.truncatedLine(d, d.pending)
			d.pending = d.pending[:0]
		}
	}
	d.pendingRow()
	if err := d.readError(); err != nil {
		return err
	}
	switch {
	case !complete && !d.goText:
		d.snap.Completeness.Unfinished, d.snap.Completeness.Truncated = true, true
		d.warn.add(WarnUnfinished, d.lines.number,
			"the file ends before its mappings: it is still being written or was truncated")
	case endsEarly(d.lines.err):
		d.warn.add(WarnUnfinished, d.lines.number, "the compressed file ends early: mappings may be missing")
	}
	return nil
}

// swallows reports whether a mappings' sentinel directly after a row may mean that the row is
// truncated.
func (d *Decoder) swallows(sentinel []byte) bool {
	return len(d.pending) > 0 && bytes.Equal(sentinel, mapsGperftools) && d.snap.Format != FormatJemalloc
}

// lastRowWhole reports whether the last row is whole although no blank line follows it: mimalloc
// and Chromium's deep profiler never write one. If gperftools has truncated the row, the file has
// the size of its buffer, or the header counts more than the rows.
func (d *Decoder) lastRowWhole() bool {
	counts, _, ok := parseCounts(d.pending)
	return ok && missing(d.snap) == counts && !d.fillsBuffer()
}

// bodyLine handles one line among the rows. A row waits for the next line.
func (d *Decoder) bodyLine(line []byte) {
	d.at = d.lines.number
	switch {
	case !d.lines.whole:
		d.rows.truncatedLine(d, line)
	case bytes.Equal(line, goStatistics):
		d.goText = true
	case len(line) == 0 || line[0] == '#' || len(bytes.TrimSpace(line)) == 0:
		if d.Births && bytes.HasPrefix(line, birthsPrefix) {
			d.births(line)
		}
	default:
		d.pending = append(d.pending, line...)
	}
}

// goStatistics is the first line after the rows of a profile that a Go program writes as text.
var goStatistics = []byte("# runtime.MemStats")

// pendingRow decodes the row that was waiting.
func (d *Decoder) pendingRow() {
	if len(d.pending) > 0 {
		d.rows.row(d, d.pending)
		d.pending = d.pending[:0]
	}
}

func (d *Decoder) mappings() {
	d.maps.begin()
	for {
		line, ok := d.lines.next()
		if !ok {
			return
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if d.lines.long {
			d.warn.add(WarnLongLine, d.lines.number, "skipped a line of more than %d bytes", maxLine)
			continue
		}
		if !d.lines.whole {
			d.warn.add(WarnUnfinished, d.lines.number, "the mappings end in the middle of a line")
			if bytes.IndexByte(line, '/') < 0 {
				continue
			}
		}
		m, keep, ok := d.maps.line(line)
		if !ok {
			d.warn.add(WarnMalformedMapping, d.lines.number, "skipped a malformed mappings line: %q", clip(line))
		} else if keep && len(d.snap.Mappings) < maxMappings {
			d.snap.Mappings = append(d.snap.Mappings, m)
		}
	}
}

// stack returns the ID of a stack, given its text: ` 0x1 0x2`.
func (d *Decoder) stack(text []byte) (StackID, bool) {
	if d.once {
		return d.parseStack(text)
	}
	number, hash, ok := d.texts.Find(text)
	if ok {
		return StackID(number), true
	}
	id, ok := d.parseStack(text)
	if ok {
		d.room(d.texts.Growth())
		d.texts.Put(text, hash, uint32(id))
	}
	return id, ok
}

func (d *Decoder) parseStack(text []byte) (StackID, bool) {
	var ok bool
	if d.scratch, ok = appendAddrs(d.scratch[:0], text); !ok {
		return 0, false
	}
	id := d.intern()
	return StackID(id), true
}

// numbered reports whether the decoder's stacks are those of the rows, in order of first
// appearance. They are not if a stack was truncated or had no counts.
func (d *Decoder) numbered() bool {
	next := StackID(0)
	for _, s := range d.snap.Samples {
		if s.Stack > next {
			return false
		}
		if s.Stack == next {
			next++
		}
	}
	return int(next) == d.set.Len()
}

// intern returns the number of the stack in d.scratch.
func (d *Decoder) intern() uint32 {
	d.room(d.set.Growth())
	id, _ := d.set.Intern(0, d.scratch)
	return id
}

// room checks the limit before more bytes are allocated, if they are many.
func (d *Decoder) room(more int64) {
	const much = 1 << 20
	if more > much && d.Check != nil && d.noRoom == nil {
		d.noRoom = d.Check(more)
	}
}

func (d *Decoder) badRow(line []byte) {
	d.warn.add(WarnMalformedRow, d.at, "skipped a malformed row: %q", clip(line))
}

// add appends a row and updates the sums.
func (d *Decoder) add(s Sample) {
	if !d.merge(s) {
		d.row = len(d.snap.Samples)
		d.full = len(d.snap.Samples) >= maxRows
		samples, err := grow.Append(d.snap.Samples, s, d.Check)
		d.snap.Samples, d.noRoom = samples, cmp.Or(d.noRoom, err)
	}
	d.snap.Rows++
	c := &d.snap.Completeness
	d.rowLine = d.at
	c.Rows = c.Rows.Add(s.Counts)
	e := d.snap.Estimate(s)
	c.Estimate = c.Estimate.addSaturated(e)
	if s.InuseBytes > d.previous {
		c.Sorted = false
	}
	d.previous = s.InuseBytes
	if s.InuseBytes > 0 && (d.smallest < 0 || s.InuseBytes < d.smallest) {
		d.smallest = s.InuseBytes
	}
	switch depth, limit := len(d.set.Addrs(uint32(s.Stack))), d.snap.DepthLimit; {
	case limit > 0 && depth >= limit && !s.Truncated:
		c.AtDepthLimit += e.InuseBytes
		d.deepLine = cmp.Or(d.deepLine, d.at)
	case depth == 0 && !s.Truncated:
		c.EmptyStacks += e.InuseBytes
		d.emptyLine = cmp.Or(d.emptyLine, d.at)
	}
	if isNegative(s.Counts) {
		d.warn.add(WarnNegative, d.at, "a negative count: %d: %d [%d: %d]",
			s.InuseObjects, s.InuseBytes, s.AllocObjects, s.AllocBytes)
	}
	if !d.snap.NoObjects && lacksObjects(s.Counts) {
		d.warn.add(WarnZeroObjects, d.at, "bytes without objects: %d: %d [%d: %d]",
			s.InuseObjects, s.InuseBytes, s.AllocObjects, s.AllocBytes)
	}
}

// merge adds the counts of a row to those of the earlier row of the same stack, if there is one,
// and reports whether it did. Samples cannot be added before they are scaled, and a negative count
// may be the remainder of a larger one.
func (d *Decoder) merge(s Sample) bool {
	if !d.Merge || (d.snap.Format.Sampled() && d.snap.Period > 1) || s.Truncated || isNegative(s.Counts) {
		return false
	}
	for len(d.rowOf) <= int(s.Stack) {
		d.rowOf = append(d.rowOf, 0)
	}
	rows := d.snap.Samples
	row := d.rowOf[s.Stack]
	if int(row) < len(rows) && rows[row].Stack == s.Stack && !rows[row].Truncated && !isNegative(rows[row].Counts) {
		if sum := rows[row].Counts.Add(s.Counts); !isNegative(sum) { // negative: overflow
			rows[row].Counts = sum
			delete(d.snap.Births, int(row))
			d.row = -1
			return true
		}
	}
	d.rowOf[s.Stack] = uint32(len(rows))
	return false
}

func clip(b []byte) []byte { return b[:min(len(b), 80)] }

func isNegative(c Counts) bool {
	return c.InuseObjects < 0 || c.InuseBytes < 0 || c.AllocObjects < 0 || c.AllocBytes < 0
}

func lacksObjects(c Counts) bool {
	return (c.InuseObjects == 0 && c.InuseBytes != 0) || (c.AllocObjects == 0 && c.AllocBytes != 0)
}
