//go:build linux && amd64

package tracer

import (
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// RaisePriority gives this thread the highest priority, if it may, and returns a function that undoes it. The wait
// for a processor counts while threads are stopped.
func RaisePriority() (undo func()) {
	const highest, kernelBias = -20, 20
	before, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), highest) != nil {
		return func() {}
	}
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), kernelBias-before) }
}

// holds are the calls of HoldCollector that were not undone, and the setting before the first of them.
var holds struct {
	sync.Mutex
	n, percent int
}

// HoldCollector keeps Go's garbage collector from running by itself, because it would stop the tracer
// while a thread of the process is stopped. It returns a function that undoes it. Several processes may be stopped at
// the same time: the last one lets the collector run again.
func HoldCollector() (undo func()) {
	holds.Lock()
	defer holds.Unlock()
	if holds.n++; holds.n == 1 {
		holds.percent = debug.SetGCPercent(-1)
	}
	return func() {
		holds.Lock()
		defer holds.Unlock()
		if holds.n--; holds.n == 0 {
			debug.SetGCPercent(holds.percent)
		}
	}
}
