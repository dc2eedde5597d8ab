package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/heaplapse/heaplapse/heapfile"
)

// maxLine is the longest line, in bytes. Names of C++ templates can have many KiB.
const maxLine = 1 << 20

// Lines reads the lines of a file.
type Lines struct {
	// Number is the number of the last line, from 1.
	Number int
	// Truncated is set at the end if the file ends within a line or within compressed data. The
	// last line is left out then.
	Truncated bool

	in   *bufio.Reader
	name string
}

// NewLines returns the lines of a file. name is its name in errors.
func NewLines(r io.Reader, name string) *Lines {
	return &Lines{in: bufio.NewReaderSize(r, maxLine), name: name}
}

// Next returns the next line without its newline. The line is valid until the next call. The error
// at the end is io.EOF.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	switch {
	case err == nil:
		l.Number++
		return line[:len(line)-1], nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if len(line) > 0 || errors.Is(err, io.ErrUnexpectedEOF) {
			l.Truncated = true
		}
		return nil, io.EOF
	case errors.Is(err, bufio.ErrBufferFull):
		l.Number++
		return nil, l.Errorf("the line has more than %d MiB", maxLine>>20)
	}
	return nil, &heapfile.SyntaxError{File: l.name, Line: l.Number, Msg: "read failed", Err: err}
}

// Errorf returns an error about the last line.
func (l *Lines) Errorf(format string, args ...any) error {
	return &heapfile.SyntaxError{File: l.name, Line: l.Number, Msg: fmt.Sprintf(format, args...)}
}
