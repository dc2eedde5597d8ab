//go:build linux && amd64

package snapshot

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// worker is a thread of heaplapse that traces. When it ends, the kernel releases all that it has traced,
// including threads that did not stop in time.
type worker struct {
	calls chan func()
	ended chan struct{}
}

// startWorker starts a thread that makes calls, and calls idle regularly meanwhile.
func startWorker(interval time.Duration, idle func()) *worker {
	w := &worker{make(chan func()), make(chan struct{})}
	go w.run(interval, idle)
	return w
}

func (w *worker) run(interval time.Duration, idle func()) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if unix.Gettid() == unix.Getpid() {
		go w.run(interval, idle) // the runtime never ends the main thread
		<-w.ended
		runtime.UnlockOSThread()
		return
	}
	defer close(w.ended)
	const shortest = 1 // ns
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, shortest, 0, 0, 0)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case call, ok := <-w.calls:
			if !ok {
				return
			}
			call()
		case <-tick.C:
			idle()
		}
	}
}

// do makes a call in the thread and returns what it returns.
func (w *worker) do(call func() error) (err error) {
	done := make(chan struct{})
	w.calls <- func() { err = call(); close(done) }
	<-done
	return err
}

// end ends the thread.
func (w *worker) end() {
	close(w.calls)
	<-w.ended
}
