package atomicfile

import (
	"os"
	"sync"
)

// names is a set of paths for several goroutines.
type names struct {
	mu  sync.Mutex
	set map[string]struct{}
}

// unfinished are the temporary files of the process. They are one set for the process, as signals
// are.
var unfinished names

// RemoveUnfinished removes the temporary files of all writes that are under way, which then fail.
// It is for a process that a signal ends.
func RemoveUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	for name := range unfinished.set {
		_ = os.Remove(name) // it may be complete and renamed already
	}
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = map[string]struct{}{}
	}
	n.set[name] = struct{}{}
}

func (n *names) delete(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.set, name)
}
