package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Limits for hostile input.
const (
	maxSize    = 1 << 30 // bytes of a file
	maxRecords = 50_000  // of a file
	maxFrames  = 500_000 // of a file
	maxStack   = 512     // frames of a record that are kept; both tools record at most 500
	maxBytes   = 1 << 46 // lost by one record: sums do not overflow
)

const remedy = "name a file that valgrind --xml=yes --xml-file=FILE or a program under LeakSanitizer wrote"

// Read reads a file that the user named; it may be a pipe.
func Read(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads a report. Errors are of type [heapfile.SyntaxError], with the name and the line, or
// those of in. A text may have more than reports, such as the other output of the program, and none
// at all: LeakSanitizer writes none if it finds no leak.
func Parse(in io.Reader, name string) (*Report, error) {
	limited := &io.LimitedReader{R: in, N: maxSize + 1}
	r := bufio.NewReaderSize(limited, maxLine)
	head, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b := &builder{report: &Report{Path: name}, checked: map[string]int{}, texts: map[string]string{}}
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		err = b.fail(0, "a binary file, not a report of leaks: "+remedy)
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")):
		err = b.memcheck(r)
	default:
		err = b.text(r)
	}
	if limited.N <= 0 {
		err = b.fail(0, fmt.Sprintf("more than %d GiB: is it the right file?", maxSize>>30))
	}
	if err != nil {
		return nil, err
	}
	return b.report, nil
}

// builder collects the records of a report.
type builder struct {
	report *Report
	// checked has the index of a record by process, kind and stack: a program may check for leaks
	// several times.
	checked map[string]int
	texts   map[string]string // equal names share memory
	frames  int
}

func (b *builder) fail(line int, message string) error {
	return &heapfile.SyntaxError{File: b.report.Path, Line: line, Msg: message}
}

// add adds the record of a process. It replaces that of an earlier check.
func (b *builder) add(process string, r *Record) error {
	if r.Bytes < 0 || r.Bytes > maxBytes || r.Blocks > maxBytes || r.IndirectBytes > maxBytes {
		return b.fail(r.Line, "not the size of a leak")
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%s %d", process, r.Kind)
	for i := range r.Frames {
		fmt.Fprintf(&key, " %x", r.Frames[i].Address)
	}
	r.Report, r.Blame = b.report, -1
	b.report.HasIndirect = b.report.HasIndirect || r.Kind == Indirect
	i, known := b.checked[key.String()]
	if known {
		b.report.Records[i] = *r
		return nil
	}
	b.frames += len(r.Frames)
	if len(b.report.Records) == maxRecords || b.frames > maxFrames {
		return b.fail(r.Line, fmt.Sprintf("more than %d leaks, or %d frames", maxRecords, maxFrames))
	}
	b.checked[key.String()] = len(b.report.Records)
	b.report.Records = append(b.report.Records, *r)
	return nil
}

// frame adds a frame to a record. Frames beyond the limit are left out.
func (b *builder) frame(r *Record, f ReportFrame) {
	if len(r.Frames) == maxStack {
		return
	}
	f.Function = b.share(symbolize.SimpleName(f.Function))
	f.File, f.Module, f.BuildID = b.share(f.File), b.share(f.Module), b.share(f.BuildID)
	r.Frames = append(r.Frames, f)
}

// share returns a text that shares memory with equal ones.
func (b *builder) share(s string) string {
	if known, ok := b.texts[s]; ok {
		return known
	}
	s = strings.Clone(s)
	b.texts[s] = s
	return s
}
