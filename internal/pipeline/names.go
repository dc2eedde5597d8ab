package pipeline

import (
	"sync"

	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// keptNames is the names that a recorder has kept in the directory of a recording. It is opened when it is needed
// first.
type keptNames struct {
	once  sync.Once
	names *bundle.Names
	err   error
	taken bool // another one closes them
}

// of returns the names in a directory, which is the same in each call. It returns nil if there are none, or all files
// are still where they were.
func (k *keptNames) of(dir string) (*bundle.Names, error) {
	k.once.Do(func() { k.names, k.err = bundle.OpenNames(dir) })
	return k.names, k.err
}

// take returns the names, if there are any, and leaves it to the caller to close them.
func (k *keptNames) take(dir string) (*bundle.Names, error) {
	k.taken = true
	return k.of(dir)
}

func (k *keptNames) close() error {
	if k.names == nil || k.taken {
		return nil
	}
	return k.names.Close()
}
