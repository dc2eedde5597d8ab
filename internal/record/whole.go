//go:build linux

package record

import (
	"io"
	"os"
	"path/filepath"
)

// writeWhole puts a file in place whole or not at all.
func writeWhole(path string, mode os.FileMode, content io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".copy-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(f.Name(), mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
