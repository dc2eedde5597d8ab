package heapfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is the decompressed bytes of one file.
type source struct {
	io.Reader
	closers  []func() error
	recorded time.Time // a gzip header's MTIME
	modified time.Time
	profile  bool // it is a pprof profile
}

func (s *source) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// openSource opens a file and decompresses gzip and zstd. It refuses a file whose first bytes are
// not those of a heap snapshot.
func openSource(fsys fs.FS, path, name string) (*source, error) {
	f, modified, err := openFile(fsys, path, name)
	if err != nil {
		return nil, err
	}
	s, err := newSource(f, name)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.closers = append([]func() error{f.Close}, s.closers...)
	s.modified = modified
	return s, nil
}

// openFile opens a file and returns the time of its modification.
func openFile(fsys fs.FS, path, name string) (fs.File, time.Time, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, time.Time{}, pathError(name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, time.Time{}, pathError(name, err)
	}
	return f, info.ModTime(), nil
}

// Unpacked is the decompressed bytes of a file of any kind.
type Unpacked struct {
	io.ReadCloser
	// Head is the first bytes, up to 512. Reads return them, too.
	Head []byte
	// Modified is the file's modification time.
	Modified time.Time
}

// Unpack opens a file and decompresses gzip and zstd. check, if not nil, is called for each MiB
// that is read; its error is that of the reader. name is the name of the file in messages.
func Unpack(fsys fs.FS, path, name string, check func(more int64) error) (*Unpacked, error) {
	f, modified, err := openFile(fsys, path, name)
	if err != nil {
		return nil, err
	}
	s := &source{closers: []func() error{f.Close}}
	head, err := s.unpack(f, name, maxTraceRatio)
	if err != nil {
		s.Close()
		return nil, err
	}
	head = bytes.Clone(head)
	if check != nil {
		s.Reader = &checked{counter: counter{r: s.Reader}, check: check}
	}
	return &Unpacked{s, head, modified}, nil
}

// pathError makes "open x: no such file or directory" print as "x: no such file or directory".
func pathError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &SyntaxError{File: path, Msg: "cannot be read", Err: pe.Err}
	}
	return err
}

const sniffLen = 512

// newSource looks through the compression and at the first bytes.
func newSource(r io.Reader, path string) (*source, error) {
	s := &source{}
	head, err := s.unpack(r, path, maxRatio)
	if err != nil {
		return nil, err
	}
	if s.profile = isProfile(head); !s.profile {
		if err := refuseBytes(path, head); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// unpack sets the reader to the decompressed bytes and returns the first ones.
func (s *source) unpack(r io.Reader, path string, ratio int64) (head []byte, err error) {
	packed := &counter{r: r}
	head, s.Reader, err = peek(packed, path)
	if err != nil {
		return nil, err
	}
	unpack := compressionOf(head)
	if unpack == nil {
		return head, nil
	}
	if r, err = unpack(s, s.Reader); err != nil {
		return nil, &SyntaxError{File: path, Msg: "cannot be decompressed", Err: err}
	}
	head, s.Reader, err = peek(&expansion{counter{r: r}, packed, ratio}, path)
	switch {
	case err != nil:
		return nil, err
	case len(head) == 0:
		return nil, &FormatError{File: path, Kind: "a compressed file without content",
			Hint: "it is truncated, or was empty before; remove it or record again"}
	case compressionOf(head) != nil:
		return nil, &FormatError{File: path, Kind: "compressed twice", Hint: "decompress it once"}
	}
	return head, nil
}

// peek returns the first bytes and a reader that still has them. Large reads
// go past its small buffer.
func peek(r io.Reader, path string) ([]byte, io.Reader, error) {
	b := bufio.NewReaderSize(r, sniffLen)
	head, err := b.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) && !endsEarly(err) {
		return nil, nil, &SyntaxError{File: path, Msg: "cannot be read", Err: err}
	}
	return head, b, nil
}

func compressionOf(head []byte) func(*source, io.Reader) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return gunzip
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return unzstd
	}
	return nil
}

func gunzip(s *source, r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, z.Close)
	if !z.ModTime.Equal(noTime) {
		s.recorded = z.ModTime
	}
	return z, nil
}

// noTime is what some writers store if they have no time: the low 32 bits of Go's zero time, in
// 2042.
var noTime = time.Unix(0x886e0900, 0)

func unzstd(s *source, r io.Reader) (io.Reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { z.Close(); return nil })
	return z, nil
}

// A snapshot compresses well, to a tenth or a fiftieth of its size. What expands far more is made
// to take the time and the memory of the reader. A trace of a loop repeats a few bytes.
const (
	maxRatio      = 1000
	maxTraceRatio = 20_000
	alwaysAllowed = 256 << 20 // bytes that a file of any size may expand to
)

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// expansion is decompressed bytes. It fails if they are far more than the compressed ones.
type expansion struct {
	counter
	packed *counter
	ratio  int64
}

func (e *expansion) Read(b []byte) (int, error) {
	if e.n > max(alwaysAllowed, e.ratio*e.packed.n) {
		return 0, fmt.Errorf("it expands to more than %d times its size, as no snapshot does", e.ratio)
	}
	return e.counter.Read(b)
}

// checked calls a function for each MiB that is read.
type checked struct {
	counter
	check func(more int64) error
	next  int64 // the number of bytes at which check is called again
}

func (c *checked) Read(b []byte) (int, error) {
	if c.n >= c.next {
		if err := c.check(0); err != nil {
			return 0, err
		}
		c.next = c.n + 1<<20
	}
	return c.counter.Read(b)
}
