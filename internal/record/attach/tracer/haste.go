//go:build linux && amd64

package tracer

import (
	"runtime/debug"

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

// HoldCollector keeps Go's garbage collector from running by itself, because it would stop the tracer
// while a thread of the process is stopped. It returns a function that undoes it.
func HoldCollector() (undo func()) {
	before := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(before) }
}
