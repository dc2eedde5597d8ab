//go:build unix

package elffile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a part of a file read-only.
func mapFile(f *os.File, offset, size int64) ([]byte, func() error, error) {
	switch {
	case size == 0:
		return nil, nil, errors.New("empty")
	case size > math.MaxInt:
		return nil, nil, errors.New("too large to map")
	}
	data, err := unix.Mmap(int(f.Fd()), offset, int(size), unix.PROT_READ, unix.MAP_SHARED)
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
