//go:build linux && amd64

package tracer

import (
	"fmt"
	"strconv"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

const (
	watchRounds = 8
	watchPause  = 100 * time.Microsecond
	watchMost   = 64 // threads that are looked at again, unless more of them run

	decidePause = time.Millisecond // between the rounds after those
	decideLimit = time.Second
)

// watch finds the threads that make calls which must not be interrupted. It looks at them in some rounds, at those that
// run first.
//
// Of a thread that runs, the kernel does not tell whether it runs code of the program, or works in a system call for
// long, such as a read of megabytes from /dev/urandom, which a stop would end early. So the rounds go on until its
// times tell. Code of the program takes one clock tick, 10 ms at most.
func (s *Sleeps) watch(threads []target.Thread) {
	var list, others []int
	running := map[int]work{} // until it is known what they do, with what they had used before
	for _, t := range threads {
		switch {
		case t.Running:
			list = append(list, t.ID)
			running[t.ID], _ = readWork(s.pid, t.ID)
		case s.leavesTrace(t):
			s.often[t.ID] = t
		default:
			others = append(others, t.ID)
		}
	}
	list = append(list, others[:min(len(others), max(0, watchMost-len(list)))]...)
	for range watchRounds * min(len(list), 1) {
		time.Sleep(watchPause)
		for _, id := range list {
			s.see(id, running)
		}
	}
	for end := time.Now().Add(decideLimit); len(running) > 0 && time.Now().Before(end); time.Sleep(decidePause) {
		for id := range running {
			s.see(id, running)
		}
	}
	for id := range running {
		s.often[id] = target.Thread{ID: id, Call: -1, Running: true}
	}
}

// see looks at a thread once more. It removes it from those of which it is not known what they do, if it is known now.
func (s *Sleeps) see(id int, running map[int]work) {
	t, ok := target.ReadThread(s.pid, id)
	before, unknown := running[id]
	switch {
	case ok && t.Running && unknown:
		now, ok := readWork(s.pid, id)
		inKernel := ok && now.inKernelSince(before)
		if inKernel {
			s.often[id] = t
		}
		if inKernel || now.user != before.user {
			delete(running, id)
		}
	default:
		delete(running, id)
		if ok && s.leavesTrace(t) {
			s.often[id] = t
		}
	}
}

// work is the time that a thread has used, in clock ticks of 10 ms: in its own code, and in the kernel.
type work struct{ user, system int64 }

// inKernelSince reports whether the thread has worked in the kernel only for some ticks.
func (w work) inKernelSince(before work) bool {
	const some = 3
	return w.user == before.user && w.system >= before.system+some
}

// readWork reads what a thread has used. It returns ok false if it has ended.
func readWork(pid, id int) (w work, ok bool) {
	const user, system = 14 - 3, 15 - 3
	f := target.StatFields(fmt.Sprintf("/proc/%d/task/%d/stat", pid, id))
	if len(f) <= system {
		return w, false
	}
	w.user, _ = strconv.ParseInt(f[user], 10, 64)
	w.system, _ = strconv.ParseInt(f[system], 10, 64)
	return w, true
}
