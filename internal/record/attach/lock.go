//go:build linux && amd64

package attach

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps two heaplapse from attaching to one process at the same time. It is a lock of a file in
// /proc, and ends with the process that holds it.
type lock struct{ file *os.File }

func lockProcess(pid int) (*lock, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, &Refusal{
			Kind: Busy, Reason: fmt.Sprintf("another heaplapse is attached to process %d", pid), Remedy: "end it first",
		}
	}
	return &lock{f}, nil // where files in /proc cannot be locked, nothing protects from that
}

func (l *lock) release() { l.file.Close() }
