package pipeline

import (
	"errors"
	"os"
	"sync"
)

// TempDirs are temporary directories that are removed when the program ends.
type TempDirs struct {
	mu     sync.Mutex
	dirs   []string
	closed bool
}

// errRemoved is the error of Add after Remove.
var errRemoved = errors.New("temporary directories are removed: the process ends")

// Add makes a directory.
func (t *TempDirs) Add() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", errRemoved
	}
	dir, err := os.MkdirTemp("", "heaplapse-")
	if err == nil {
		t.dirs = append(t.dirs, dir)
	}
	return dir, err
}

// removals is the number of attempts to remove a directory to which files are still added.
const removals = 10

// Remove removes all directories. No more can be added.
func (t *TempDirs) Remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, dir := range t.dirs {
		for range removals {
			if os.RemoveAll(dir) == nil {
				break
			}
		}
	}
	t.dirs = nil
}
