//go:build linux && amd64

package snapshot

import (
	"bufio"
	"fmt"
	"io"
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
// which takes time, and a thread of the process may have been about to create one.
func removeCopies(pid int) {
	const limit, settled, pause = 10 * time.Second, 200 * time.Millisecond, time.Millisecond
	l := &look{pid: pid}
	w := startWorker(limit, func() {})
	defer w.end()
	for began, none := time.Now(), time.Now(); time.Since(none) < settled && time.Since(began) < limit; time.Sleep(pause) {
		if len(findCopies(pid, anyState)) == 0 {
			continue
		}
		none = time.Now()
		if len(findCopies(pid, "Z")) > 0 {
			_ = w.do(l.reapOnce)
		}
	}
}
