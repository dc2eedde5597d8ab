// Package memory limits the memory that a process takes.
package memory

import (
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/heaplapse/heaplapse/internal/units"
)

// ErrLimit is wrapped by the errors of [Limit.Check].
var ErrLimit = errors.New("memory limit")

// Limit is the memory that the process may take. It is safe for concurrent use.
type Limit struct {
	max  int64
	heap int64 // of max, what is left for Go's heap
	mu   sync.Mutex
}

// NewLimit returns a limit in bytes. Garbage is collected more often near the limit than otherwise,
// unless the environment variable GOMEMLIMIT sets a lower one.
func NewLimit(limit int64) *Limit {
	l := &Limit{max: limit, heap: max((limit-programPages)/10*9, limit/2)}
	if debug.SetMemoryLimit(-1) > l.heap {
		debug.SetMemoryLimit(l.heap)
	}
	return l
}

// A tenth is kept for what is allocated between two checks, and for what the collector has not
// returned.
//
// programPages is about what the code and the constants of the program take when they have been
// read, in bytes.
const programPages = 20 << 20

// Guard calls a function if the process exceeds the limit by a fiftieth although Check was called,
// because one step of a reader needs that much at once. The function must end the process. The
// guard ends when the limit is garbage.
func (l *Limit) Guard(end func(error)) {
	const interval = 2 * time.Millisecond
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2) // nothing else runs while Go copies a large slice
	}
	heap, exceeded := l.heap, &limitError{l.max}
	ticker := time.NewTicker(interval)
	done := make(chan struct{})
	runtime.AddCleanup(l, func(done chan struct{}) { close(done) }, done)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if used() <= heap/2 {
				continue
			}
			if taken, ok := resident(); ok && taken > heap+heap/50 {
				end(exceeded)
			}
		}
	}()
}

// Check returns an error if the process would take more memory than the limit, without garbage,
// after it has allocated more bytes. It takes a few microseconds below the limit.
func (l *Limit) Check(more int64) error {
	if fits(more, l.heap) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !fits(more, l.heap) { // another goroutine may have collected garbage
		debug.FreeOSMemory()
	}
	if used()+more > l.heap {
		return &limitError{l.max}
	}
	return nil
}

// fits reports whether more bytes can be allocated within a limit. They may not fit into what is
// free.
func fits(more, limit int64) bool {
	u, free := usage()
	if more > 0 {
		u += free
	}
	return u+more <= limit
}

// used returns the memory of the process in bytes, without what the collector can give back.
func used() int64 {
	u, _ := usage()
	return u
}

func usage() (used, free int64) {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	free = int64(s[2].Value.Uint64())
	return int64(s[0].Value.Uint64()-s[1].Value.Uint64()) - free, free
}

type limitError struct{ max int64 }

func (e *limitError) Error() string { return "needs more than " + units.Bytes(e.max) + " of memory" }
func (e *limitError) Unwrap() error { return ErrLimit }
