//go:build linux && amd64

package snapshot

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Guard removes the copies if heaplapse is killed. It is a process of its own, which is started with the first copy.
// It is told the number of each process that is copied, and its negative when the copy has been removed, and ends with
// its input. The nil Guard, and one without arguments, do nothing.
type Guard struct {
	// Args are the arguments, the name of the program first, by which the executable file of this process calls [Watch]
	// with its standard input.
	Args []string

	mu      sync.Mutex
	process *exec.Cmd // nil before the first copy, and if it could not be started
	input   io.WriteCloser
	tried   bool
}

// tell tells the guard of a copy. Without the guard, there are copies nevertheless.
func (g *Guard) tell(message int) {
	if g == nil || len(g.Args) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.tried {
		g.tried = true
		g.start()
	}
	if g.input != nil {
		_, _ = fmt.Fprintln(g.input, message)
	}
}

// start starts the guard in a session of its own, so that signals for the process group of heaplapse do not end it.
func (g *Guard) start() {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Dir = g.Args, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err == nil && cmd.Start() == nil {
		g.process, g.input = cmd, input
	}
}

// Close ends the guard. All copies must have been closed.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		return
	}
	_ = g.input.Close()
	_ = g.process.Wait()
	g.process, g.input = nil, nil
}

// Watch is what the guard runs. It reads messages until the input ends, and removes the copies that are left then.
func Watch(input io.Reader) {
	copies := map[int]int{} // by the number of the process
	for lines := bufio.NewScanner(input); lines.Scan(); {
		switch n, err := strconv.Atoi(lines.Text()); {
		case err != nil || n == 0:
		case n > 0:
			copies[n]++
		case copies[-n] > 1:
			copies[-n]--
		default:
			delete(copies, -n)
		}
	}
	var all sync.WaitGroup
	for pid := range copies {
		all.Go(func() { removeCopies(pid) })
	}
	all.Wait()
}

// removeCopies removes the copies that snapshots of a process have left. The kernel ends them when it ends heaplapse,
// which takes time, and a thread of the process may have been about to create one. On a busy machine that thread may
// not run for a second.
func removeCopies(pid int) {
	const limit, settled, pause = 2 * time.Minute, 200 * time.Millisecond, time.Millisecond
	l := &look{pid: pid}
	w := startWorker(limit, func() {})
	defer w.end()
	threads := newProgress(pid)
	for began, none := time.Now(), time.Now(); time.Since(began) < limit; time.Sleep(pause) {
		if len(findCopies(pid, anyState)) == 0 {
			if time.Since(none) >= settled && threads.haveRun() {
				return
			}
			continue
		}
		none = time.Now()
		if len(findCopies(pid, "Z")) > 0 {
			_ = w.do(l.reapOnce)
		}
	}
}

// progress tells whether the threads of a process have finished what they were made to do.
type progress struct {
	pid  int
	left map[int]uint64 // by thread that may not have: for how long it had run at first, in nanoseconds
}

func newProgress(pid int) *progress {
	p := &progress{pid, map[int]uint64{}}
	ids, _ := threadIDs(pid) // none if it has ended
	for _, id := range ids {
		p.left[id] = runTime(pid, id)
	}
	return p
}

// haveRun reports whether each thread has waited for something since, or has run for long, or has ended or was stopped.
func (p *progress) haveRun() bool {
	const long = 100 * time.Millisecond
	for id, before := range p.left {
		state := threadState(p.pid, id)
		if state == 0 || state == 'S' || state == 'T' || runTime(p.pid, id) >= before+uint64(long) {
			delete(p.left, id)
		}
	}
	return len(p.left) == 0
}

// runTime returns for how long a thread has run, in nanoseconds; 0 if the kernel does not tell.
func runTime(pid, id int) (ns uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, id))
	if err == nil {
		_, _ = fmt.Sscan(string(text), &ns)
	}
	return ns
}
