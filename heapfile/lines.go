package heapfile

import (
	"bytes"
	"io"
)

// maxLine is the longest line, in bytes. A stack of 128 frames needs 2.5 KiB, a mappings line
// little more than PATH_MAX.
const maxLine = 1 << 20

// lineReader yields the lines of a file from one reused buffer.
type lineReader struct {
	r          io.Reader
	buf        []byte
	begin, end int
	err        error

	number int   // of the line last returned, 1-based
	size   int64 // bytes read from r
	whole  bool  // the line last returned ended in a newline
	long   bool  // the line last returned was truncated at maxLine
}

func (l *lineReader) reset(r io.Reader) {
	buf := l.buf
	if buf == nil {
		buf = make([]byte, 256<<10)
	}
	*l = lineReader{r: r, buf: buf}
}

// next returns the next line without its newline and carriage return. The line is valid until the
// next call. At the end next returns false, and l.err is io.EOF or the error of the reader.
func (l *lineReader) next() ([]byte, bool) {
	l.long = false
	for scanned := 0; ; {
		if i := bytes.IndexByte(l.buf[l.begin+scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.begin : l.begin+scanned+i]
			l.begin += scanned + i + 1
			return l.finish(line, true), true
		}
		scanned = l.end - l.begin
		if l.err != nil {
			if scanned == 0 {
				return nil, false
			}
			line := l.buf[l.begin:l.end]
			l.begin = l.end
			return l.finish(line, false), true
		}
		if scanned >= maxLine {
			l.long = true
			line := append([]byte(nil), l.buf[l.begin:l.begin+maxLine]...)
			l.skipLine()
			return l.finish(line, true), true
		}
		l.fill()
	}
}

// finish counts the line and drops a carriage return before its newline.
func (l *lineReader) finish(line []byte, whole bool) []byte {
	l.number++
	l.whole = whole
	if n := len(line); whole && n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// skipLine drops the rest of the current line.
func (l *lineReader) skipLine() {
	for {
		if i := bytes.IndexByte(l.buf[l.begin:l.end], '\n'); i >= 0 {
			l.begin += i + 1
			return
		}
		l.begin = l.end
		if l.err != nil {
			return
		}
		l.fill()
	}
}

// fill makes room and reads once.
func (l *lineReader) fill() {
	if l.begin > 0 {
		l.end = copy(l.buf, l.buf[l.begin:l.end])
		l.begin = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf)
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.size += int64(n)
	l.err = err
}
