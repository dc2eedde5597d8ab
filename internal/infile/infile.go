// Package infile opens input files. A file that a program finds by itself, in a directory or under
// a known name, must be regular: a pipe would block it, and a device may have side effects or no
// end.
package infile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is the error for a directory, a pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading. The error for another kind of file wraps [ErrNotRegular].
func Open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(path, info)
	}
	// Another file may have taken its place. O_NONBLOCK does not wait for the writer of a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notRegular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// FS is the files of this machine by their usual paths, which need not satisfy [fs.ValidPath]. It
// opens regular files only.
type FS struct{}

// Open implements [fs.FS].
func (FS) Open(path string) (fs.File, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func notRegular(path string, info fs.FileInfo) error {
	kind := "a device"
	switch info.Mode().Type() {
	case fs.ModeDir:
		kind = "a directory"
	case fs.ModeNamedPipe:
		kind = "a pipe"
	case fs.ModeSocket:
		kind = "a socket"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s, %w", kind, ErrNotRegular)}
}

// MaxSmall is the size, in bytes, that a file of settings may have: configurations, suppressions,
// rules. Lists that people write are far smaller.
const MaxSmall = 1 << 20

// ReadSmall reads a whole file of at most [MaxSmall] bytes that the user named. It may be a pipe,
// such as a shell's <(…).
func ReadSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return readSmall(f, path)
}

// ReadSmallRegular reads a whole file of at most [MaxSmall] bytes that must be regular.
func ReadSmallRegular(path string) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readSmall(f, path)
}

func readSmall(f *os.File, path string) ([]byte, error) {
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxSmall+1))
	if err == nil && len(content) > MaxSmall {
		err = fmt.Errorf("%s: more than %d MiB: is it the right file?", path, MaxSmall>>20)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
