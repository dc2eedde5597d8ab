package heapfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
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
func openSource(path, name string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, pathError(name, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &FormatError{
			File: name,
			Kind: "a directory",
			Hint: "name the snapshots in it, or pass it where a directory is taken",
		}
	}
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
	var pe *os.PathError
	if errors.As(err, &pe) {
		return &SyntaxError{File: path, Msg: "cannot be read", Err: pe.Err}
	}
	return err
}

const sniffLen = 512

// newSource looks through the compression and at the first bytes.
func newSource(r io.Reader, path string) (*source, error) {
	s := &source{}
	head, r, err := peek(r, path)
	if err != nil {
		return nil, err
	}
	if unpack := compressionOf(head); unpack != nil {
		if r, err = unpack(s, r); err != nil {
			return nil, &SyntaxError{File: path, Msg: "cannot be decompressed", Err: err}
		}
		if head, r, err = peek(r, path); err != nil {
			return nil, err
		}
		if compressionOf(head) != nil {
			return nil, &FormatError{File: path, Kind: "compressed twice", Hint: "decompress it once"}
		}
	}
	if err := refuseBytes(path, head); err != nil {
		return nil, err
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
