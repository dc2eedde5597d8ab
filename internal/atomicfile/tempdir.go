package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// TempDir makes a directory for temporary files, which only this user can read, and returns a
// function that removes it. [RemoveUnfinished] removes it, too. If the process is killed, the next
// call of TempDir does.
func TempDir() (dir string, remove func(), err error) {
	unfinished.sweep(os.TempDir())
	for range attempts {
		dir = filepath.Join(os.TempDir(), ".heaplapse"+infix+strconv.FormatUint(uint64(rand.Uint32()), 10))
		if err = unfinished.mkdir(dir); err == nil {
			return dir, func() { unfinished.rmdir(dir) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return "", nil, err
}

// mkdir makes a directory, with a lock on it.
func (t *temporaries) mkdir(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errEnding}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	lock, ok := acquire(dir)
	if _, err := os.Lstat(dir); !ok || err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
	}
	t.add(dir, lock)
	return nil
}

func (t *temporaries) rmdir(dir string) {
	removeAll(dir)
	t.done(dir)
}

// removals is the number of attempts to remove a directory to which another process adds files.
const removals = 10

// removeAll removes a file or a directory, if it can.
func removeAll(path string) {
	for range removals {
		if os.RemoveAll(path) == nil {
			return
		}
	}
}
