//go:build unix

package elffile

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a regular file read-only.
func mapFile(f *os.File, info fs.FileInfo) ([]byte, func() error, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, nil, errIrregular
	case info.Size() == 0:
		return nil, nil, errors.New("empty")
	case info.Size() > math.MaxInt:
		return nil, nil, errors.New("too large to map")
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

// Release returns the memory of the pages that were read to the system. Later reads load them
// again, usually from the page cache.
func (f *File) Release() {
	if len(f.data) > 0 {
		_ = unix.Madvise(f.data, unix.MADV_DONTNEED) // an optimization: errors do not matter
	}
}
