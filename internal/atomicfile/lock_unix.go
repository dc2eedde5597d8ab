//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// acquire locks a new file or directory for as long as the result is open. It returns false if it
// is gone or locked. Without locks, or if it cannot be opened again, the lock is nil.
func acquire(name string) (lock *os.File, ok bool) {
	f, err := open(name)
	if err != nil {
		return nil, !errors.Is(err, os.ErrNotExist) // the umask may forbid to read
	}
	switch err := flock(f); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		_ = f.Close()
		return nil, false
	case err != nil:
		_ = f.Close()
		return nil, true
	case gone(name):
		_ = f.Close()
		return nil, false
	}
	return f, true
}

// removeAbandoned removes a temporary file, or a directory of this user, unless a process has
// locked it.
func removeAbandoned(name string) {
	f, err := open(name)
	if err != nil {
		return
	}
	if info, err := f.Stat(); err == nil && (!info.IsDir() || ours(info)) && flock(f) == nil {
		removeAll(name) // best effort
	}
	_ = f.Close()
}

// open opens a file that another process may have replaced by a link or a pipe.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// ours reports whether a file belongs to the user of this process.
func ours(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// gone reports whether nothing has the name. It does not use the number of links, which file
// systems count differently for directories.
func gone(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, os.ErrNotExist)
}
