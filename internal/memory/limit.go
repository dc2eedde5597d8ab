// Package memory limits the memory that a process takes.
package memory

import (
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/heaplapse/heaplapse/internal/units"
)

// ErrLimit is wrapped by the errors of [Limit.Check].
var ErrLimit = errors.New("memory limit")

// Limit is the memory that the process may take. It is safe for concurrent use.
type Limit struct {
	max int64
	mu  sync.Mutex
}

// NewLimit returns a limit in bytes. Garbage is collected more often near the limit than otherwise,
// unless the environment variable GOMEMLIMIT sets a lower one.
func NewLimit(max int64) *Limit {
	if debug.SetMemoryLimit(-1) > max {
		debug.SetMemoryLimit(max)
	}
	return &Limit{max: max}
}

// Check returns an error if the process takes more memory than the limit and it is not garbage. It
// takes a few microseconds below the limit.
func (l *Limit) Check() error {
	if used() <= l.max {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if used() > l.max { // another goroutine may have collected garbage
		runtime.GC()
	}
	if used() > l.max {
		return &limitError{l.max}
	}
	return nil
}

// used returns the memory of the process in bytes, without what the collector can give back.
func used() int64 {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64() - s[2].Value.Uint64())
}

type limitError struct{ max int64 }

func (e *limitError) Error() string { return "needs more than " + units.Bytes(e.max) + " of memory" }
func (e *limitError) Unwrap() error { return ErrLimit }
