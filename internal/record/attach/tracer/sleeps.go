//go:build linux && amd64

package tracer

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Sleeps tells for how long threads have waited in calls that have to be made again for the rest of
// their time.
//
// The kernel does not tell when a system call began, but when a thread has run last, by the clock of the
// scheduler of its processor: se.exec_start in /proc/PID/task/ID/sched (kernel/sched/debug.c). That of a
// thread that is moved to this processor, and begins to run on it, is the same clock now.
//
// A thread that runs may begin a call in the microseconds between the last look at it and the stop. Those
// that make such calls often are known by some looks before that (watch).
//
// The zero value knows nothing: threads that wait with a limit are not stopped.
type Sleeps struct {
	pid  int
	libc *target.Module
	// began has what is known of the threads that waited, and unknown those of which it could not be found out.
	began   map[int]sleep
	unknown map[int]bool
	// often has threads that were seen in a call that must not be interrupted, or seem to be in one all the time.
	often map[int]target.Thread
}

type sleep struct {
	since    time.Time
	switches uint64 // how often the thread had waited, this time included
}

// clockLimit is the time that a processor has for running a thread of heaplapse.
const clockLimit = time.Second

// ReadSleeps looks at threads for some milliseconds, as a rule, and then for how long they have waited in calls with a
// limit. libc may be nil.
func ReadSleeps(pid int, threads []target.Thread, libc *target.Module) *Sleeps {
	s := &Sleeps{pid, libc, map[int]sleep{}, map[int]bool{}, map[int]target.Thread{}}
	s.watch(threads)
	on := map[int][]state{} // by processor
	for _, t := range threads {
		t, ok := target.ReadThread(pid, t.ID)
		if !ok || t.Running || !milliseconds[t.Call] || !s.mayChange(t) {
			continue
		}
		st, ok := readState(fmt.Sprintf("/proc/%d/task/%d/", pid, t.ID))
		st.id, s.unknown[t.ID] = t.ID, !ok
		on[st.processor] = append(on[st.processor], st)
	}
	for processor, states := range on {
		now, clock, ok := clockOf(processor)
		for _, st := range states {
			known := ok && st.ran <= clock && !s.unknown[st.id]
			if s.unknown[st.id] = !known; known {
				s.began[st.id] = sleep{now.Add(st.ran - clock), st.switches}
			}
		}
	}
	return s
}

// mayChange reports whether the arguments of a call may be changed: it is made by a function of the C library or of
// Go, which returns without using them again. (Code that the compiler has put into another function might.)
func (s *Sleeps) mayChange(t target.Thread) bool {
	return s.libc != nil && (s.libc.HasCode(t.PC) || isGo(target.Memory{PID: s.pid}, t.PC))
}

// isGo reports whether a system call is made by Syscall6 of Go's runtime (since Go 1.19): the code behind it is
// cmp $-4095, %rax; jbe +21; neg %rax; mov %rax, %rcx.
func isGo(memory target.Memory, pc uint64) bool {
	const code = "\x48\x3d\x01\xf0\xff\xff\x76\x15\x48\xf7\xd8\x48\x89\xc1"
	var b [len(code)]byte
	return memory.Read(pc, b[:]) == nil && string(b[:]) == code
}

// canShorten reports whether a call can be made for the rest of its time. A thread that did not wait before has not
// waited for long.
func (s *Sleeps) canShorten(t target.Thread) bool { return s.mayChange(t) && !s.unknown[t.ID] }

// since returns when a stopped thread began to wait, or now if it has run after ReadSleeps.
func (s *Sleeps) since(id int, switches uint64) time.Time {
	const stop = 1      // being stopped counts, too
	const slower = 1000 // the clock of the system may be set, and run slower than that of the scheduler by a part of this
	now := time.Now()
	if b, ok := s.began[id]; ok && b.switches+stop == switches {
		return b.since.Add(now.Sub(b.since) / slower)
	}
	return now
}

// state is what the scheduler tells about a thread.
type state struct {
	id, processor int
	ran           time.Duration // by the clock of the processor
	switches      uint64
}

// readState reads the state of the thread of a directory of /proc.
func readState(dir string) (s state, ok bool) {
	const processor = 39 - 3
	fields := target.StatFields(dir + "stat")
	if len(fields) <= processor {
		return s, false
	}
	var err error
	if s.processor, err = strconv.Atoi(fields[processor]); err != nil {
		return s, false
	}
	sched, _ := os.ReadFile(dir + "sched")
	for line := range strings.Lines(string(sched)) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "se.exec_start": // 0 if the thread was moved while it waited (migrate_task_rq_fair)
			s.ran, ok = parseMilliseconds(value)
			ok = ok && s.ran > 0
		case "nr_voluntary_switches":
			s.switches, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return s, ok
}

// parseMilliseconds parses a number like 29282691.320128, which has six digits behind the point.
func parseMilliseconds(text string) (time.Duration, bool) {
	whole, fraction, ok := strings.Cut(text, ".")
	ns, err := strconv.ParseInt(whole+fraction, 10, 64)
	return time.Duration(ns), ok && err == nil && len(fraction) == 6 && ns >= 0
}

// clockOf returns what the clock of the scheduler of a processor tells now.
func clockOf(processor int) (now time.Time, clock time.Duration, ok bool) {
	type result struct {
		now   time.Time
		clock time.Duration
		ok    bool
	}
	done := make(chan result, 1)
	go func() {
		var before, only unix.CPUSet
		only.Set(processor)
		runtime.LockOSThread() // a thread that stays bound to the processor ends with this function
		if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &only) != nil {
			done <- result{}
			return
		}
		nap() // then it has begun to run just now
		s, ok := readState("/proc/thread-self/")
		done <- result{time.Now(), s.ran, ok && s.processor == processor}
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}()
	select {
	case r := <-done:
		return r.now, r.clock, r.ok
	case <-time.After(clockLimit): // a thread with a higher priority has the processor
		return now, 0, false
	}
}
