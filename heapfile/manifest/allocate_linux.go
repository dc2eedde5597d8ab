package manifest

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives the file blocks up to an offset and leaves its size as it is.
func allocate(f *os.File, to int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, to) == nil
}
