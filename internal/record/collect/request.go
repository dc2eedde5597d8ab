//go:build linux

package collect

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

const (
	lastWithin   = 2 * time.Second        // maximum time that RequestLast waits
	requestEvery = 300 * time.Millisecond // the profiler ignores a request while it is busy
	poll         = 10 * time.Millisecond
)

// RequestLast makes the recorded processes take a last snapshot, with the signal that their engine
// takes for a request, and waits until they have. It is called while Run runs. It does not wait
// longer if Run itself waits, for a disk that does not answer.
func (c *Collector) RequestLast(signal int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.requestUntil(time.Now().Add(lastWithin), signal)
	}()
	select {
	case <-done:
	case <-time.After(lastWithin):
	}
}

func (c *Collector) requestUntil(deadline time.Time, signal int) {
	waiting, retry := c.request(deadline, signal, nil), time.Now().Add(requestEvery)
	for len(waiting) > 0 && time.Now().Before(deadline) {
		time.Sleep(poll)
		waiting = c.stillWaiting(waiting)
		if time.Now().After(retry) {
			waiting, retry = c.request(deadline, signal, waiting), time.Now().Add(requestEvery)
		}
	}
}

// request sends the signal to the processes in only, or to all that write snapshots if only is nil.
// It returns the number of snapshots that each of them has written so far. After the deadline, it
// does nothing.
func (c *Collector) request(deadline time.Time, signal int, only map[int]int) map[int]int {
	waiting := map[int]int{}
	c.do(func() {
		if time.Now().After(deadline) {
			return
		}
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
