//go:build linux

package collect

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

const (
	lastWithin   = 3 * time.Second        // maximum time that RequestLast waits
	requestEvery = 300 * time.Millisecond // the profiler ignores a request while it is busy
	poll         = 10 * time.Millisecond
)

// RequestLast makes the recorded processes take a last snapshot, with the signal that their engine
// takes for a request, and waits until they have. It is called while Run runs.
func (c *Collector) RequestLast(signal int) {
	waiting := c.request(signal, nil)
	deadline, retry := time.Now().Add(lastWithin), time.Now().Add(requestEvery)
	for len(waiting) > 0 && time.Now().Before(deadline) {
		time.Sleep(poll)
		waiting = c.stillWaiting(waiting)
		if time.Now().After(retry) {
			waiting, retry = c.request(signal, waiting), time.Now().Add(requestEvery)
		}
	}
}

// request sends the signal to the processes in only, or to all that write snapshots if only is nil.
// It returns the number of snapshots that each of them has written so far.
func (c *Collector) request(signal int, only map[int]int) map[int]int {
	waiting := map[int]int{}
	c.do(func() {
		for pid, p := range c.procs {
			_, again := only[pid]
			if (only != nil && !again) || !p.recorded || !p.known || p.ended || !proc.Catches(pid, signal) {
				continue
			}
			c.requested[pid] = true
			if unix.Kill(pid, syscall.Signal(signal)) == nil {
				waiting[pid] = p.snapshots
			}
		}
	})
	return waiting
}

// stillWaiting returns those processes that live and have not written a snapshot since the request.
func (c *Collector) stillWaiting(waiting map[int]int) map[int]int {
	left := map[int]int{}
	c.do(func() {
		for pid, before := range waiting {
			if p := c.procs[pid]; p.snapshots == before && proc.Alive(pid) {
				left[pid] = before
			}
		}
	})
	return left
}
