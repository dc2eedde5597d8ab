// Package spool keeps input that must be read several times, such as a pipe or the entries of an
// archive, in a temporary file. The file has no name, so that nothing is left of it when the
// process ends, however it ends.
package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Spool holds files by name. It is an [fs.FS] whose names need not satisfy [fs.ValidPath]. Files
// that were added may be read by several goroutines at once.
type Spool struct {
	// Limit, if not 0, is the number of bytes that all files may have, without blocks of zeros.
	Limit int64

	file   *os.File
	buf    []byte // of Add
	end    int64  // of the last file
	stored int64
	files  map[string]*info
}

// ErrLimit is the error of Add above the Limit.
var ErrLimit = errors.New("more data than the limit")

// align is the distance between the beginnings of files. It is a multiple of the page size of every
// system, so that each file can be mapped.
const align = 64 << 10

// New returns an empty Spool in the default directory for temporary files.
func New() (*Spool, error) {
	f, err := unnamed(os.TempDir())
	if err != nil {
		return nil, inDirectory(err)
	}
	return &Spool{file: f, files: map[string]*info{}}, nil
}

// unlinked creates a file and removes its name.
func unlinked(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "heaplapse-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close frees the space. Open files cannot be read afterwards, but mappings of them can.
func (s *Spool) Close() error { return s.file.Close() }

// Add copies a file up to its end. Blocks of zeros become holes.
func (s *Spool) Add(name string, modified time.Time, r io.Reader) error {
	begin := (s.end + align - 1) / align * align
	end := begin
	if s.buf == nil {
		s.buf = make([]byte, align)
	}
	for ended := false; !ended; {
		n, err := fill(r, s.buf)
		if ended = errors.Is(err, io.EOF); err != nil && !ended {
			return err
		}
		if err := s.write(s.buf[:n], end); err != nil {
			return err
		}
		end += int64(n)
	}
	if err := s.file.Truncate(end); err != nil { // a hole at the end counts, too
		return inDirectory(err)
	}
	s.end = end
	s.files[name] = &info{path.Base(name), begin, end - begin, modified}
	return nil
}

// fill reads until the buffer is full or the reader returns an error. io.ReadFull returns
// io.ErrUnexpectedEOF at the end of every reader, and would hide that a stream is truncated.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}

// write writes a block, unless it is zero.
func (s *Spool) write(b []byte, at int64) error {
	if isZero(b) {
		return nil
	}
	if s.stored += int64(len(b)); s.Limit != 0 && s.stored > s.Limit {
		return ErrLimit
	}
	_, err := s.file.WriteAt(b, at)
	return inDirectory(err)
}

var zeros [align]byte

func isZero(b []byte) bool { return string(b) == string(zeros[:len(b)]) }

// inDirectory names the directory instead of the temporary file, which means nothing to the user.
func inDirectory(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("temporary file in %s (TMPDIR): %w", os.TempDir(), pathError.Err)
	}
	return err
}

// Open implements [fs.FS].
func (s *Spool) Open(name string) (fs.File, error) {
	f, err := s.File(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// File opens a file.
func (s *Spool) File(name string) (*File, error) {
	i := s.files[name]
	if i == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &File{io.NewSectionReader(s.file, i.begin, i.size), i, s.file}, nil
}

// File is an open file of a [Spool].
type File struct {
	*io.SectionReader
	info  *info
	spool *os.File
}

// Info returns the size and the time of the file.
func (f *File) Info() fs.FileInfo { return f.info }

// Stat implements [fs.File].
func (f *File) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements [fs.File].
func (f *File) Close() error { return nil }

// Part returns the file that contains f, and where f begins in it: at a multiple of 64 KiB.
func (f *File) Part() (file *os.File, offset int64) { return f.spool, f.info.begin }

// info implements [fs.FileInfo].
type info struct {
	name        string
	begin, size int64
	modified    time.Time
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return 0o400 }
func (i *info) ModTime() time.Time { return i.modified }
func (i *info) IsDir() bool        { return false }
func (i *info) Sys() any           { return nil }
