package atomicfile

import (
	"os"
	"path/filepath"
)

// TempDir makes a directory for temporary files, which only this user can read, and returns a
// function that removes it. [RemoveUnfinished] removes it, too. If the process is killed, the next
// call of TempDir does. If it cannot be made in the usual directory, it is made in one of the
// others.
func TempDir(others ...string) (dir string, remove func(), err error) {
	dir, err = tempDirIn(os.TempDir())
	for _, other := range others {
		if err == nil {
			break
		}
		if made, e := tempDirIn(other); e == nil {
			dir, err = made, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	return dir, func() {
		removeAll(dir)
		unfinished.done(dir)
	}, nil
}

func tempDirIn(parent string) (dir string, err error) {
	unfinished.sweep(parent)
	dir, _, err = unfinished.create(filepath.Join(parent, ".heaplapse"), func(name string) (*os.File, error) {
		return nil, os.Mkdir(name, 0o700)
	})
	return dir, err
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
