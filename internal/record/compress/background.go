//go:build linux

package compress

import (
	"context"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// Result tells of a compressed copy that a Background has written.
type Result struct {
	Size int64
	Err  error
}

// Background compresses files one at a time, so that the recorded program does not notice: at the
// lowest priority, and for at most a hundredth of the time.
type Background struct {
	paths   chan string
	results chan Result
	cancel  context.CancelFunc
	stopped chan struct{}
}

// rest is how long a Background rests, as a multiple of the time that a file took.
const rest = 99

// Start starts a Background.
func Start() *Background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &Background{
		paths: make(chan string, 1), results: make(chan Result, 1), cancel: cancel, stopped: make(chan struct{}),
	}
	go b.run(ctx)
	return b
}

// Add requests a copy of a file. It does not wait. It must not be called again before the result of
// the last file was received.
func (b *Background) Add(path string) { b.paths <- path }

// Results receives one result for each file.
func (b *Background) Results() <-chan Result { return b.results }

// Stop ends the work, also in the middle of a file: its result has an error. It returns when no
// more files are written.
func (b *Background) Stop() {
	b.cancel()
	<-b.stopped
}

func (b *Background) run(ctx context.Context) {
	defer close(b.stopped)
	const lowest = 19
	proc.LowerPriority(lowest)
	for {
		select {
		case <-ctx.Done():
			return
		case path := <-b.paths:
			start := time.Now()
			size, err := File(ctx, path)
			b.results <- Result{size, err}
			sleep(ctx, rest*time.Since(start))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
