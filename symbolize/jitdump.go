package symbolize

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A jitdump holds the functions that a just-in-time compiler made, their code, and the source line of parts of it
// (linux, tools/perf/Documentation/jitdump-specification.txt). Node writes one with --perf-prof, CPython
// 3.13 with -X perf_jit, LLVM's and Java's compilers with perf's listeners.
//
// A record that the process had not finished ends the reading, as does one that cannot be: what came before is used.

// Kinds of records, and sizes of their fixed parts.
const (
	jitLoad      = 0
	jitMove      = 1
	jitDebugInfo = 2
	jitClose     = 3

	jitHeaderSize = 40
	jitRecordSize = 16
	jitLoadSize   = 40
	jitMoveSize   = 48
	jitLineSize   = 16
)

// Caps of a jitdump.
const (
	maxJITName  = 64 << 10
	maxJITLines = 1 << 23 // in one file
)

// jitLine says that a function's code from an offset on comes from a line.
type jitLine struct {
	offset uint64 // in the function; an address until that is known
	file   string
	line   int
}

// jitMagic recognises a jitdump, and the order of its bytes.
func jitMagic(head []byte) (binary.ByteOrder, bool) {
	switch string(head) {
	case "DTiJ":
		return binary.LittleEndian, true
	case "JiTD":
		return binary.BigEndian, true
	}
	return nil, false
}

// jitReader reads the records of a jitdump.
type jitReader struct {
	in      *bufio.Reader
	order   binary.ByteOrder
	m       *perfMap
	pending map[uint64][]jitLine // lines of code that is loaded next, by its address
	loaded  map[uint64]int       // by code_index: in the map's entries
	files   map[string]string
	lines   int
}

func parseJITDump(in *bufio.Reader, order binary.ByteOrder) (*perfMap, error) {
	var head [jitHeaderSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("a jitdump without a header: %w", err)
	}
	if version := order.Uint32(head[4:]); version != 1 {
		return nil, fmt.Errorf("jitdump version %d, want 1", version)
	}
	size := order.Uint32(head[8:])
	if size < jitHeaderSize {
		return nil, fmt.Errorf("a jitdump whose header has %d bytes", size)
	}
	r := jitReader{
		in: in, order: order, m: &perfMap{source: SourceJITDump},
		pending: map[uint64][]jitLine{}, loaded: map[uint64]int{}, files: map[string]string{},
	}
	_, err := io.CopyN(io.Discard, in, int64(size-jitHeaderSize))
	if err == nil {
		err = r.records()
	}
	if err = orCut(err); err != nil {
		return nil, err
	}
	r.m.sort()
	return r.m, nil
}

// records reads all records that are whole.
func (r *jitReader) records() error {
	var head [jitRecordSize]byte
	for {
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return orCut(err)
		}
		kind, size := r.order.Uint32(head[:]), r.order.Uint32(head[4:])
		if size < jitRecordSize || kind == jitClose {
			return nil
		}
		body := &io.LimitedReader{R: r.in, N: int64(size - jitRecordSize)}
		if err := r.record(kind, body); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		if body.N > 0 {
			return nil // the file ends within the record
		}
		if err := r.m.tooLarge(); err != nil {
			return err
		}
	}
}

// orCut takes the end of the file for what it is in a file that is still written.
func orCut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func (r *jitReader) record(kind uint32, body *io.LimitedReader) error {
	switch kind {
	case jitLoad:
		return r.load(body)
	case jitMove:
		return r.move(body)
	case jitDebugInfo:
		return r.debugInfo(body)
	}
	return nil
}

// load reads pid, tid, vma, code_addr, code_size, code_index and the name; the code itself is passed over.
func (r *jitReader) load(body *io.LimitedReader) error {
	var b [jitLoadSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return orCut(err)
	}
	e := perfEntry{start: r.order.Uint64(b[16:]), size: r.order.Uint64(b[24:])}
	name, ok, err := r.readName(body)
	if err != nil || !ok || name == "" {
		return err
	}
	e.name = name
	e.lines = linesOf(e, r.pending[e.start])
	delete(r.pending, e.start)
	r.add(e, r.order.Uint64(b[32:]))
	return nil
}

func (r *jitReader) add(e perfEntry, index uint64) {
	if e.size == 0 || e.start+e.size < e.start {
		return
	}
	e.order = len(r.m.entries)
	r.m.text += len(e.name)
	r.loaded[index] = e.order
	r.m.entries = append(r.m.entries, e)
}

// move reads pid, tid, vma, old_code_addr, new_code_addr, code_size and code_index. The function is known at both
// places: snapshots are of any time.
func (r *jitReader) move(body *io.LimitedReader) error {
	var b [jitMoveSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return orCut(err)
	}
	index := r.order.Uint64(b[40:])
	i, ok := r.loaded[index]
	if !ok || r.m.entries[i].start != r.order.Uint64(b[16:]) {
		return nil
	}
	e := r.m.entries[i]
	e.start, e.size = r.order.Uint64(b[24:]), r.order.Uint64(b[32:])
	r.add(e, index)
	return nil
}

// debugInfo reads code_addr, nr_entry, and for each entry an address, a line, a discriminator and a file name, which is
// "\xff" for that of the entry before. It comes before the code that it describes. If anything in it is odd it is left out.
func (r *jitReader) debugInfo(body *io.LimitedReader) error {
	var b [jitLineSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return orCut(err)
	}
	code, n := r.order.Uint64(b[:]), r.order.Uint64(b[8:])
	var lines []jitLine
	file := ""
	for range n {
		if _, err := io.ReadFull(body, b[:]); err != nil {
			return orCut(err)
		}
		name, ok, err := r.readName(body)
		if err != nil || !ok {
			return err
		}
		if name != "\xff" {
			file = r.intern(name)
		}
		if !printable(file) {
			return nil
		}
		lines = append(lines, jitLine{r.order.Uint64(b[:]), file, int(min(r.order.Uint32(b[8:]), 1<<31-1))})
		if r.lines++; r.lines > maxJITLines {
			return fmt.Errorf("more than %d lines", maxJITLines)
		}
		if err := r.m.tooLarge(); err != nil {
			return err
		}
	}
	r.pending[code] = lines
	return nil
}

func (r *jitReader) intern(s string) string {
	known, ok := r.files[s]
	if !ok {
		r.files[s], known = s, s
		r.m.text += len(s)
	}
	return known
}

// printable says whether a file's name is one.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// readName reads up to a NUL; ok is false if there is none within the record, or the name is too long.
func (r *jitReader) readName(body *io.LimitedReader) (name string, ok bool, err error) {
	var b []byte
	for body.N > 0 && len(b) < maxJITName {
		c, err := r.in.ReadByte()
		if err != nil {
			return "", false, orCut(err)
		}
		body.N--
		if c == 0 {
			return string(b), true, nil
		}
		b = append(b, c)
	}
	return "", false, nil
}

// jitELFHeader is what V8 adds to the addresses of debug information: perf inject puts the code behind the header of an ELF
// file (V8's src/diagnostics/perf-jit.cc, kElfHeaderSize).
const jitELFHeader = 0x40

// linesOf are the lines of a function, sorted; nil if they do not fit its code. V8 gives offsets of
// bytecode for code that its baseline compiler made ("JS:^f"): they are no addresses.
func linesOf(e perfEntry, lines []jitLine) []jitLine {
	shift := uint64(0)
	if rest, ok := strings.CutPrefix(e.name, "JS:"); ok {
		if !strings.HasPrefix(rest, "*") && !strings.HasPrefix(rest, "+") {
			return nil
		}
		shift = jitELFHeader
	}
	for i := range lines {
		lines[i].offset -= e.start + shift
		if lines[i].offset > e.size {
			return nil
		}
	}
	slices.SortStableFunc(lines, func(a, b jitLine) int { return cmp.Compare(a.offset, b.offset) })
	return lines
}

// frame is the function at an address within the entry.
func (e *perfEntry) frame(addr uint64) Frame {
	f := perfFrame(e.name)
	i, _ := slices.BinarySearchFunc(e.lines, addr-e.start, func(l jitLine, offset uint64) int {
		if l.offset <= offset {
			return -1
		}
		return 1
	})
	if i > 0 && e.lines[i-1].line > 0 {
		f.File, f.Line, f.Column = cmp.Or(e.lines[i-1].file, f.File), e.lines[i-1].line, 0
	}
	return f
}
