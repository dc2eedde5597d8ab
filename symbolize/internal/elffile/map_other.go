//go:build !unix

package elffile

import (
	"io"
	"os"
)

// mapFile reads a part of a file, for systems without mmap.
func mapFile(f *os.File, offset, size int64) ([]byte, func() error, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, offset, size))
	return data, func() error { return nil }, err
}

// Release does nothing, because the file is not mapped.
func (f *File) Release() {}
