package convert

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// BaseName is what the files made of a snapshot are called: leaky.0001 for dir/leaky.0001.heap.gz.
func BaseName(snapshot string) string {
	base := series.TrimCompression(filepath.Base(snapshot))
	if ext := filepath.Ext(base); ext == ".heap" {
		base = base[:len(base)-len(ext)]
	}
	return base
}

// WriteFile writes a file whole or not at all: an existing one is
// replaced only once the new one is complete. What is no regular file (a device, a pipe) is
// written to, not replaced.
func WriteFile(path string, content io.WriterTo) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeInto(path, content)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	return replace(path, content)
}

func writeInto(path string, content io.WriterTo) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = content.WriteTo(f)
	return errors.Join(err, f.Close())
}

func replace(path string, content io.WriterTo) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp*")
	if err != nil {
		return named(err, path)
	}
	_, err = content.WriteTo(tmp)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// named is an error of a temporary file put down to the file that was asked for.
func named(err error, path string) error {
	if e := new(fs.PathError); errors.As(err, &e) {
		return &fs.PathError{Op: "create", Path: path, Err: e.Err}
	}
	return err
}
