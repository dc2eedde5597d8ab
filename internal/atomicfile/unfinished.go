package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// temporaries are the temporary files of the process. They are one set for the process, as signals
// are.
type temporaries struct {
	mu     sync.Mutex
	locks  map[string]*os.File // by name: the file that holds the lock; may be nil
	swept  map[string]bool     // directories that were searched for files of dead processes
	closed bool                // no more are created
}

var unfinished temporaries

// errEnding is the error of writes after [RemoveUnfinished].
var errEnding = errors.New("the process is being ended by a signal")

// RemoveUnfinished removes the temporary files of all writes that are under way, and the temporary
// directories. The writes fail, and so do later ones: it is for a process that a signal ends.
func RemoveUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	unfinished.closed = true
	for name := range unfinished.locks {
		removeAll(name) // it may be complete and renamed already
	}
}

// attempts is how often another random name is tried.
const attempts = 1000

// create calls a function that makes a file or a directory, with a new name that begins with
// prefix, and locks it. The function returns nil for a directory.
func (t *temporaries) create(
	prefix string, create func(name string) (*os.File, error),
) (name string, f *os.File, err error) {
	for range attempts {
		name = prefix + infix + strconv.FormatUint(uint64(rand.Uint32()), 10)
		if f, err = t.try(name, create); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, f, err
}

// try makes a file or a directory with a name, and locks it.
func (t *temporaries) try(name string, create func(name string) (*os.File, error)) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, &fs.PathError{Op: "create", Path: name, Err: errEnding}
	}
	f, err := create(name)
	if err != nil {
		return nil, err
	}
	lock, ok := acquire(name)
	if !ok { // another process took it for that of a dead one before it was locked
		_ = f.Close() // does nothing for a directory
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	if t.locks == nil {
		t.locks = map[string]*os.File{}
	}
	t.locks[name] = lock
	return f, nil
}

// done releases the lock of a file that is renamed or removed.
func (t *temporaries) done(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lock := t.locks[name]; lock != nil {
		_ = lock.Close()
	}
	delete(t.locks, name)
}

// sweep removes the temporary files of dead processes from a directory, once.
func (t *temporaries) sweep(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.swept[dir] {
		return
	}
	if t.swept == nil {
		t.swept = map[string]bool{}
	}
	t.swept[dir] = true
	list, err := os.ReadDir(dir)
	if err != nil {
		return // the write fails with the same error
	}
	for _, e := range list {
		if IsTemporary(e.Name()) && (e.Type().IsRegular() || e.IsDir()) {
			removeAbandoned(filepath.Join(dir, e.Name()))
		}
	}
}
