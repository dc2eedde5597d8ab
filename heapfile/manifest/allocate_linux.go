package manifest

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate allocates disk blocks for the file up to an offset, without changing its size. It
// reports whether it succeeded.
func allocate(f *os.File, to int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, to) == nil
}
