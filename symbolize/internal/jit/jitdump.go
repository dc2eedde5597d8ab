package jit

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

// A jitdump has records of the functions that a compiler generates, their code, and the source
// lines of parts of it (linux, tools/perf/Documentation/jitdump-specification.txt). Node writes one
// with --perf-prof, CPython 3.13 with -X perf_jit, the compilers of LLVM and Java with listeners
// for perf.
//
// Reading ends at the first record that is truncated or malformed. The records before it are used.

// Kinds of records.
const (
	recordLoad      = 0
	recordMove      = 1
	recordDebugInfo = 2
	recordClose     = 3
)

// Sizes of the fixed parts of the header and the records.
const (
	headerSize     = 40
	recordSize     = 16
	loadSize       = 40
	moveSize       = 48
	debugInfoSize  = 16
	debugEntrySize = 16
)

// maxLines is the limit for source lines in one file.
const maxLines = 1 << 23

// line is the source line of a function's code from an offset on.
type line struct {
	offset uint64 // in the function; an address until the function is loaded
	file   string
	number int
}

// dumpMagicSize is the number of bytes that identify a jitdump.
const dumpMagicSize = 4

// dumpMagic returns the byte order of a jitdump. ok is false for other files.
func dumpMagic(head []byte) (order binary.ByteOrder, ok bool) {
	switch string(head) {
	case "DTiJ":
		return binary.LittleEndian, true
	case "JiTD":
		return binary.BigEndian, true
	}
	return nil, false
}

// dumpReader reads the records of a jitdump.
type dumpReader struct {
	in      *bufio.Reader
	order   binary.ByteOrder
	m       *Map
	pending map[uint64][]line // lines of functions that are not loaded yet, by code address
	loaded  map[uint64]int    // by code index: position in the map's entries
	files   map[string]string // names of source files, each once
	lines   int
}

func readDump(in *bufio.Reader, order binary.ByteOrder) (*Map, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("jitdump without a complete header: %w", err)
	}
	if version := order.Uint32(head[4:]); version != 1 {
		return nil, fmt.Errorf("jitdump version %d, want 1", version)
	}
	size := order.Uint32(head[8:])
	if size < headerSize {
		return nil, fmt.Errorf("jitdump header of %d bytes, want at least %d", size, headerSize)
	}
	r := dumpReader{
		in: in, order: order, m: &Map{Kind: JITDump},
		pending: map[uint64][]line{}, loaded: map[uint64]int{}, files: map[string]string{},
	}
	_, err := io.CopyN(io.Discard, in, int64(size-headerSize))
	if err == nil {
		err = r.records()
	}
	if err = ignoreEOF(err); err != nil {
		return nil, err
	}
	r.m.finish()
	return r.m, nil
}

// records reads all complete records.
func (r *dumpReader) records() error {
	var head [recordSize]byte
	for {
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return ignoreEOF(err)
		}
		kind, size := r.order.Uint32(head[:]), r.order.Uint32(head[4:])
		if size < recordSize || kind == recordClose {
			return nil
		}
		body := &io.LimitedReader{R: r.in, N: int64(size - recordSize)}
		if err := r.record(kind, body); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		if body.N > 0 {
			return nil // the file ends within the record
		}
		if err := r.m.checkLimits(); err != nil {
			return err
		}
	}
}

// ignoreEOF returns nil for the end of the file: the process may still be writing.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// record reads the body of a record. Kinds that are not known are ignored.
func (r *dumpReader) record(kind uint32, body *io.LimitedReader) error {
	switch kind {
	case recordLoad:
		return r.load(body)
	case recordMove:
		return r.move(body)
	case recordDebugInfo:
		return r.debugInfo(body)
	}
	return nil
}

// load reads a function: pid, tid, vma, code_addr, code_size, code_index and the name. The code
// itself follows and is ignored.
func (r *dumpReader) load(body *io.LimitedReader) error {
	var b [loadSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return ignoreEOF(err)
	}
	e := entry{start: r.order.Uint64(b[16:]), size: r.order.Uint64(b[24:])}
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

func (r *dumpReader) add(e entry, index uint64) {
	if r.m.add(e) {
		r.loaded[index] = len(r.m.entries) - 1
	}
}

// move reads a new address of a function: pid, tid, vma, old_code_addr, new_code_addr, code_size
// and code_index. The function keeps its old address too, because snapshots before the move contain
// it.
func (r *dumpReader) move(body *io.LimitedReader) error {
	var b [moveSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return ignoreEOF(err)
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

// debugInfo reads the lines of a function that is loaded later: code_addr, nr_entry, and for each
// entry an address, a line, a discriminator and a file name, which is "\xff" if it is that of the
// previous entry. A malformed record is ignored.
func (r *dumpReader) debugInfo(body *io.LimitedReader) error {
	var b [debugInfoSize]byte
	if _, err := io.ReadFull(body, b[:]); err != nil {
		return ignoreEOF(err)
	}
	code, n := r.order.Uint64(b[:]), r.order.Uint64(b[8:])
	var lines []line
	file := ""
	for range n {
		var b [debugEntrySize]byte
		if _, err := io.ReadFull(body, b[:]); err != nil {
			return ignoreEOF(err)
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
		lines = append(lines, line{r.order.Uint64(b[:]), file, int(min(r.order.Uint32(b[8:]), 1<<31-1))})
		if r.lines++; r.lines > maxLines {
			return fmt.Errorf("more than %d lines", maxLines)
		}
		if err := r.m.checkLimits(); err != nil {
			return err
		}
	}
	r.pending[code] = lines
	return nil
}

func (r *dumpReader) intern(s string) string {
	known, ok := r.files[s]
	if !ok {
		r.files[s], known = s, s
		r.m.text += len(s)
	}
	return known
}

// printable reports whether a string can be the name of a file.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// readName reads a string that ends with a NUL. ok is false if the record has no NUL or the name is
// too long.
func (r *dumpReader) readName(body *io.LimitedReader) (name string, ok bool, err error) {
	var b []byte
	for body.N > 0 && len(b) < maxName {
		c, err := r.in.ReadByte()
		if err != nil {
			return "", false, ignoreEOF(err)
		}
		body.N--
		if c == 0 {
			return string(b), true, nil
		}
		b = append(b, c)
	}
	return "", false, nil
}

// v8LineShift is what V8 adds to the addresses of lines: perf inject puts the code after an ELF
// header of this size (src/diagnostics/perf-jit.cc, kElfHeaderSize).
const v8LineShift = 0x40

// linesOf returns the lines of a function, sorted by offset, or nil if they do not fit its code.
func linesOf(e entry, lines []line) []line {
	shift := uint64(0)
	if v, ok := cutV8(e.name); ok {
		if v.tier() != TierOptimized || anyFreed(lines, v.frame().File) {
			return nil // code of the baseline compiler has offsets of bytecode instead of addresses
		}
		shift = v8LineShift
	}
	for i := range lines {
		lines[i].offset -= e.start + shift
		if lines[i].offset > e.size {
			return nil
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.offset, b.offset) })
	return lines
}

// anyFreed reports whether one of the files may be memory that V8 had already freed. Node 18 to 24
// write such names, which begin with a pointer of the allocator: at most six bytes before the first
// NUL. A short name is therefore valid only if it is that of the function's own script.
func anyFreed(lines []line, script string) bool {
	const pointer = 6
	return slices.ContainsFunc(lines, func(l line) bool { return len(l.file) <= pointer && l.file != script })
}

// frame returns the function at an address of the entry.
func (e *entry) frame(addr uint64) Symbol {
	f := parseName(e.name)
	i, _ := slices.BinarySearchFunc(e.lines, addr-e.start, func(l line, offset uint64) int {
		if l.offset <= offset {
			return -1 // of lines at one offset, the last applies
		}
		return 1
	})
	if i > 0 && e.lines[i-1].number > 0 {
		f.File, f.Line, f.Column = cmp.Or(e.lines[i-1].file, f.File), e.lines[i-1].number, 0
	}
	return f
}
