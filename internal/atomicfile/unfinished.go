package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// temporaries are the temporary files of the process. They are one set for the process, as signals
// are.
type temporaries struct {
	mu     sync.Mutex
	names  map[string]struct{}
	closed bool // no more are created
}

var unfinished temporaries

// errEnding is the error of writes after [RemoveUnfinished].
var errEnding = errors.New("the process is being ended by a signal")

// RemoveUnfinished removes the temporary files of all writes that are under way. These fail, and so
// do later ones: it is for a process that a signal ends.
func RemoveUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	unfinished.closed = true
	for name := range unfinished.names {
		_ = os.Remove(name) // it may be complete and renamed already
	}
}

// create makes a new file. The kernel applies the umask.
func (t *temporaries) create(name string) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errEnding}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if t.names == nil {
		t.names = map[string]struct{}{}
	}
	t.names[name] = struct{}{}
	return f, nil
}

// forget removes the name of a file that is renamed or removed.
func (t *temporaries) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, name)
}
