//go:build !(linux && amd64)

package snapshot

import (
	"fmt"
	"io"
	"runtime"
)

// Snapshot is the memory of a process at one moment.
type Snapshot struct{}

// Take returns a Refusal: it requires Linux on x86-64.
func Take(int, Options) (*Snapshot, error) {
	return nil, &Refusal{Reason: fmt.Sprintf("a snapshot of memory requires Linux on x86-64, this is %s/%s",
		runtime.GOOS, runtime.GOARCH)}
}

// Guard does nothing.
type Guard struct{ Args []string }

// Close does nothing.
func (g *Guard) Close() {}

// Watch does nothing.
func Watch(io.Reader) {}

// Close returns nil.
func (s *Snapshot) Close() error { return nil }
