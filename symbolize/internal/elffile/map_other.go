//go:build !unix

package elffile

import (
	"io"
	"io/fs"
	"os"
)

// mapFile reads a file, for systems without mmap.
func mapFile(f *os.File, _ fs.FileInfo) ([]byte, func() error, error) {
	data, err := io.ReadAll(f)
	return data, func() error { return nil }, err
}

// Release does nothing, because the file is not mapped.
func (f *File) Release() {}
