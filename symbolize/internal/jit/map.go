// Package jit reads the files that name addresses outside of mapped files. Just-in-time compilers
// list the functions that they generate in perf maps (perfmap.go) and jitdumps (jitdump.go).
// heaplapse's engine lists the functions of scripts in frames files (frames.go).
//
// # Contract
//
// [Map.Find] returns the function that was written last of those that hold an address, because
// compilers reuse memory. The names of V8 and CPython are split into function, file and line in the
// same way for both kinds of file (names.go).
//
// The process may still be writing, or may have been killed, so a truncated file is not an error:
// Read uses the lines or records that are complete. It limits the number of entries and the size of
// all names, so that a small compressed file cannot use up the memory.
package jit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/heaplapse/heaplapse/internal/interval"
)

// Limits of one file. A long-running Node process writes some 100,000 lines of 100 bytes.
const (
	maxEntries = 1 << 22
	maxName    = 64 << 10  // bytes of one name, and of one line of a perf map
	maxText    = 256 << 20 // bytes of all names
)

// Kind is the kind of a file.
type Kind uint8

// Kinds of files.
const (
	PerfMap Kind = iota
	JITDump
	Frames
)

// Map is the functions of one file. It is immutable.
type Map struct {
	Kind Kind
	// Skipped is the error of the first malformed line that was skipped, nil if there is none. Only
	// lines of a frames file are checked.
	Skipped error

	entries []entry // in the order of the file
	index   interval.Index
	text    int // bytes of all names
	// languages are those of scripts other than Python, by the start of an entry of a frames file.
	languages map[uint64]string
}

// entry is a function and its code.
type entry struct {
	start, size uint64
	name        string
	lines       []line // from a jitdump, sorted by offset
}

// Symbol is what a map says of a function at an address. Fields are "" or 0 if they are not known.
type Symbol struct {
	Function, File          string
	Line, Column, StartLine int
	Language                string // of a script
}

// Code is the code of a function.
type Code struct {
	Start uint64
	Tier  Tier
}

// Tier is the kind of compiler that made the code of a function.
type Tier uint8

// Tiers. Only optimizing compilers compile functions into others.
const (
	TierUnknown Tier = iota
	TierPlain        // V8's interpreter or its baseline compiler
	TierOptimized
)

// Read reads a file of any kind; the first bytes tell which. The extension of the name determines
// the compression (.gz, .zst). Errors begin with the name and, if it is known, the line.
func Read(r io.Reader, name string) (*Map, error) {
	m, err := read(r, filepath.Ext(name))
	if err != nil {
		return nil, located(name, err)
	}
	m.Skipped = located(name, m.Skipped)
	return m, nil
}

// lineError is an error in a line of a file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// located returns an error that begins with the name of the file and the line, or nil if err is nil.
func located(name string, err error) error {
	var at *lineError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &at):
		return fmt.Errorf("%s:%d: %w", name, at.line, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func read(r io.Reader, ext string) (*Map, error) {
	r, done, err := decompress(r, ext)
	if err != nil {
		return nil, err
	}
	defer done()
	in := bufio.NewReaderSize(r, maxName)
	head, _ := in.Peek(len(framesHead)) // an error comes back with the first read
	if order, ok := dumpMagic(head[:min(len(head), dumpMagicSize)]); ok {
		return readDump(in, order)
	}
	if string(head) == framesHead {
		return readFrames(in)
	}
	return readPerfMap(in)
}

// eachLine calls use with each line of a text, nil for one that is longer than the reader's buffer.
// The newline is part of the line; the last line may have none. It ends with the error of use.
func eachLine(in *bufio.Reader, use func(line []byte) error) error {
	for continued := false; ; {
		line, err := in.ReadSlice('\n')
		full, ended := errors.Is(err, bufio.ErrBufferFull), errors.Is(err, io.EOF)
		switch {
		case err != nil && !full && !ended:
			return err
		case full:
			line = nil
		}
		if !continued && (full || len(line) > 0) {
			if err := use(line); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		continued = full
	}
}

func decompress(r io.Reader, ext string) (io.Reader, func(), error) {
	switch ext {
	case ".gz":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// add appends an entry, unless its range is empty or wraps around.
func (m *Map) add(e entry) bool {
	if e.size == 0 || e.start+e.size < e.start {
		return false
	}
	m.text += len(e.name)
	m.entries = append(m.entries, e)
	return true
}

// checkLimits returns an error if the file has too many entries or names.
func (m *Map) checkLimits() error {
	switch {
	case len(m.entries) > maxEntries:
		return fmt.Errorf("more than %d entries", maxEntries)
	case m.text > maxText:
		return fmt.Errorf("names of more than %d bytes", maxText)
	}
	return nil
}

// finish builds the index, after the last entry.
func (m *Map) finish() {
	ranges := make([]interval.Range, len(m.entries))
	for i, e := range m.entries {
		ranges[i] = interval.Range{Lo: e.start, Hi: e.start + e.size}
	}
	m.index = interval.New(ranges)
}

// Find returns the function that holds an address. ok is false if there is none.
func (m *Map) Find(addr uint64) (s Symbol, ok bool) {
	i, ok := m.index.Find(addr)
	if !ok {
		return Symbol{}, false
	}
	if m.Kind == Frames {
		return m.script(&m.entries[i]), true
	}
	return m.entries[i].frame(addr), true
}

// Code returns the code that holds an address; the zero value if there is none.
func (m *Map) Code(addr uint64) Code {
	i, ok := m.index.Find(addr)
	if !ok {
		return Code{}
	}
	v, _ := cutV8(m.entries[i].name)
	return Code{m.entries[i].start, v.tier()}
}
