// Package atomicfile writes files whole or not at all.
//
// A file is written under a hidden temporary name in the directory of its target and renamed once
// it is complete. A reader sees the old content or the new one, never a part of it. When a write
// fails, the target is unchanged and the temporary file is removed. A program that catches the
// signals that end it calls [RemoveUnfinished] before it exits.
//
// A process that is killed leaves its temporary file. The writer of a file holds a lock on it, so
// that the next process that writes to the directory finds and removes those of dead processes.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Options change how a file is written. The zero value writes a file that everybody may read and
// write unless the umask forbids it, and does not wait for the disk.
type Options struct {
	// Mode, if not 0, is the exact permission bits of the file: the umask and those of a replaced
	// file do not count.
	Mode fs.FileMode
	// Replace replaces what has the name, whatever it is: a symbolic link instead of its target, or
	// a pipe. It is for directories where other users can make files.
	Replace bool
	// Sync waits until the content and the new name are on the disk.
	Sync bool
	// Finish, if not nil, is called with the complete temporary file before it is closed, to change
	// its owner or its times. An error prevents the replacement.
	Finish func(f *os.File) error
	// Verify, if not nil, is called with the path of the complete temporary file. An error prevents
	// the replacement.
	Verify func(path string) error
}

// OnlyForOwner lets only the owner of a file write to it, also under a umask of 0. It is for Finish.
func OnlyForOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const others = 0o022
	return f.Chmod(info.Mode().Perm() &^ others)
}

// Write writes the content that the function produces to a file. An existing file is replaced and
// its permission bits are kept; a symbolic link stays, and its target is replaced. A device or a
// pipe is written to directly. [Options.Replace] changes that.
//
// Errors name path, not the temporary file, also those of the writer that the function is called
// with. An error of the function itself is returned as it is.
func Write(path string, o Options, content func(io.Writer) error) error {
	target := path
	if !o.Replace {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return writeInto(path, content)
		}
		target = follow(path)
		if info, err := os.Stat(target); err == nil && o.Mode == 0 {
			o.Mode = info.Mode().Perm()
		}
	}
	unfinished.sweep(filepath.Dir(target))
	return naming(path, replace(target, o, func(w io.Writer) error { return content(&output{w, path}) }))
}

// output is a temporary file whose errors name the target.
type output struct {
	file io.Writer
	path string
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	return n, naming(o.path, err)
}

// writeInto writes to a file that is not regular, such as a pipe.
func writeInto(path string, content func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

// Target returns the absolute path of the file that Write writes: it follows symbolic links. Two
// paths of one file have the same target, as far as that can be known.
func Target(path string) string {
	path = follow(path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return filepath.Clean(path)
}

// maxLinks is the number of symbolic links that are followed, as in Linux.
const maxLinks = 40

// follow returns the path at the end of a chain of symbolic links. The last one may lead to a file
// that does not exist yet.
func follow(path string) string {
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // link may begin with ..
			if err != nil {
				return path
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return path
}

// replace writes a temporary file and renames it.
func replace(path string, o Options, content func(io.Writer) error) error {
	tmp, err := create(path, o.Mode)
	if err != nil {
		return err
	}
	err = content(tmp)
	if err == nil && o.Mode != 0 {
		err = tmp.Chmod(o.Mode)
	}
	if err == nil && o.Finish != nil {
		err = o.Finish(tmp)
	}
	if err == nil && o.Sync {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil && o.Verify != nil {
		err = o.Verify(tmp.Name())
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, remove(tmp.Name()))
	}
	unfinished.done(tmp.Name())
	if err == nil && o.Sync {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// maxName is the longest name of a file, in bytes, on the usual file systems.
const maxName = 255

// infix is in the name of every temporary file: .NAME.heaplapse-tmp1234567890.
const infix = ".heaplapse-tmp"

// create makes a temporary file next to its target. Without a mode the kernel applies the umask,
// which os.CreateTemp does not allow. With one, nobody else may read the file before it has that
// mode.
func create(path string, mode fs.FileMode) (*os.File, error) {
	perm := fs.FileMode(0o666)
	if mode != 0 {
		perm = 0o600
	}
	dir, base := filepath.Split(path)
	if room := maxName - len("."+infix) - 10; len(base) > room {
		base = base[:room]
	}
	_, f, err := unfinished.create(dir+"."+base, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	})
	return f, err
}

// remove removes a temporary file, which RemoveUnfinished may have removed before.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes a rename durable, where the file system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system supports it
	return d.Close()
}

// naming gives errors about the temporary file the name of the target.
func naming(path string, err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, naming(path, e))
		}
		return errors.Join(errs...)
	}
	switch e := err.(type) { //nolint:errorlint // an error that wraps another one has a text of its own
	case *fs.PathError:
		if IsTemporary(e.Path) {
			op := e.Op
			if op == "open" {
				op = "create"
			}
			return &fs.PathError{Op: op, Path: path, Err: e.Err}
		}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	return err
}

// TemporaryName returns the base name of the n-th file that a caller moves aside before it removes
// it. If the process is killed, the next one that writes to the directory removes the file.
func TemporaryName(n int) string { return ".removed" + infix + strconv.Itoa(n) }

// IsTemporary reports whether a path has the name of a temporary file of this package.
func IsTemporary(path string) bool {
	name := filepath.Base(path)
	i := strings.LastIndex(name, infix)
	if i < 1 || name[0] != '.' {
		return false
	}
	digits := name[i+len(infix):]
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
