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
	f, err := fsys.Open(path)
	if err != nil {
		return nil, pathError(name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, pathError(name, err)
	}
	s, err := newSource(f, name)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.closers = append([]func() error{f.Close}, s.closers...)
	s.modified = info.ModTime()
	return s, nil
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
	packed := &counter{r: r}
	head, r, err := peek(packed, path)
	if err != nil {
		return nil, err
	}
	if unpack := compressionOf(head); unpack != nil {
		if r, err = unpack(s, r); err != nil {
			return nil, &SyntaxError{File: path, Msg: "cannot be decompressed", Err: err}
		}
		r = &expansion{counter{r: r}, packed}
		if head, r, err = peek(r, path); err != nil {
			return nil, err
		}
		if len(head) == 0 {
			return nil, &FormatError{File: path, Kind: "a compressed file without content",
				Hint: "it is truncated, or was empty before; remove it or record again"}
		}
		if compressionOf(head) != nil {
			return nil, &FormatError{File: path, Kind: "compressed twice", Hint: "decompress it once"}
		}
	}
	if s.profile = isProfile(head); !s.profile {
		if err := refuseBytes(path, head); err != nil {
			return nil, err
		}
	}
	s.Reader = r
	return s, nil
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
	s.recorded = z.ModTime
	return z, nil
}

func unzstd(s *source, r io.Reader) (io.Reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { z.Close(); return nil })
	return z, nil
}

// A snapshot compresses well, to a tenth or a fiftieth of its size. What expands far more is made to
// take the time and the memory of the reader.
const (
	maxRatio      = 1000
	alwaysAllowed = 256 << 20 // bytes that a file of any size may expand to
)

var errExpands = fmt.Errorf("it expands to more than %d times its size, as no snapshot does", maxRatio)

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
}

func (e *expansion) Read(b []byte) (int, error) {
	if e.n > max(alwaysAllowed, maxRatio*e.packed.n) {
		return 0, errExpands
	}
	return e.counter.Read(b)
}

// checked calls a function for each MiB that is read.
type checked struct {
	counter
	check func() error
	next  int64 // the number of bytes at which check is called again
}

func (c *checked) Read(b []byte) (int, error) {
	if c.n >= c.next {
		if err := c.check(); err != nil {
			return 0, err
		}
		c.next = c.n + 1<<20
	}
	return c.counter.Read(b)
}
