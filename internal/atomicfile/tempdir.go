package atomicfile

import (
	"os"
	"path/filepath"
)

// TempDir makes a directory for temporary files, which only this user can read, and returns a
// function that removes it. [RemoveUnfinished] removes it, too. If the process is killed, the next
// call of TempDir does.
func TempDir() (dir string, remove func(), err error) {
	unfinished.sweep(os.TempDir())
	dir, _, err = unfinished.create(filepath.Join(os.TempDir(), ".heaplapse"), func(name string) (*os.File, error) {
		return nil, os.Mkdir(name, 0o700)
	})
	if err != nil {
		return "", nil, err
	}
	return dir, func() {
		removeAll(dir)
		unfinished.done(dir)
	}, nil
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
