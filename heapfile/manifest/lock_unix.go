//go:build unix

package manifest

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a manifest until the file is closed. It returns false if another process has locked
// it, and true where files cannot be locked.
func lock(f *os.File) bool {
	return !errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
