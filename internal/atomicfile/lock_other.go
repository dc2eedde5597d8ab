//go:build !unix

package atomicfile

import "os"

// acquire returns no lock, because the system may have none.
func acquire(string) (lock *os.File, ok bool) { return nil, true }

// removeAbandoned does nothing: it cannot know whether the writer is dead.
func removeAbandoned(string) {}
