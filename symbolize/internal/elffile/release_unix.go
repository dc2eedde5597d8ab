//go:build unix

package elffile

import "golang.org/x/sys/unix"

// Release returns the memory of pages that were read to the system. When they are needed again, they are read again,
// usually from the page cache.
func (f *File) Release() {
	if len(f.data) > 0 {
		_ = unix.Madvise(f.data, unix.MADV_DONTNEED) // best effort
	}
}
