//go:build unix

package elffile

import "golang.org/x/sys/unix"

// Release gives the memory of pages that were read back to the system. They are read again, from the page
// cache as a rule, when they are needed.
func (f *File) Release() {
	if len(f.data) > 0 {
		_ = unix.Madvise(f.data, unix.MADV_DONTNEED) // advice: nothing depends on it
	}
}
