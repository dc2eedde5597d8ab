//go:build linux && amd64

package snapshot

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// ErrZombie is returned if no thread of the process could wait for the child. A zombie, which takes no
// memory, stays until the process ends or the next snapshot is taken.
var ErrZombie = errors.New("the copy has ended, but stays a zombie")

// reapLimit is the time in which a thread of the process must be stopped to wait for the child.
const reapLimit = 5 * time.Second

// reap lets a thread of the process wait for the child, which has ended.
func (l *look) reap() (err error) {
	if l.child == 0 {
		return nil
	}
	for end := time.Now().Add(reapLimit); ; time.Sleep(time.Millisecond) {
		if len(findCopies(l.pid, "Z")) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %w", ErrZombie, err)
		}
		err = l.reapOnce()
	}
}

// reapOnce tries to stop one thread.
func (l *look) reapOnce() error {
	if err := l.prepare(); err != nil { // it may have executed another program
		return err
	}
	for _, t := range waitingFirst(target.Threads(l.pid)) {
		l.readSleeps(t)
		if err := l.stop(t.ID); err != nil {
			return err
		}
		if len(l.threads) > 0 {
			break
		}
	}
	err := l.borrow(l.removeZombies)
	return errors.Join(err, l.release())
}

// waitingFirst orders threads: whether those that wait may be stopped is known sooner.
func waitingFirst(list []target.Thread) []target.Thread {
	slices.SortStableFunc(list, func(a, b target.Thread) int {
		switch {
		case a.Running == b.Running:
			return 0
		case b.Running:
			return -1
		}
		return 1
	})
	return list
}

// anyState stands for every state of a copy.
const anyState = ""

// isCopyOf reports whether the fields of /proc/N/stat are those of a copy of a process, in a state like "Z".
func isCopyOf(f []string, pid int, in string) bool {
	const state, parent, signal = 0, 1, 35
	return len(f) > signal && (in == anyState || f[state] == in) && f[parent] == strconv.Itoa(pid) &&
		f[signal] == strconv.Itoa(exitSignal)
}

// findCopies returns the copies of a process in a state, by the numbers that the process knows. Zombies are also those
// of earlier snapshots, if heaplapse was killed.
func findCopies(pid int, state string) (list []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil || !isCopyOf(target.StatFields("/proc/"+e.Name()+"/stat"), pid, state) {
			continue
		}
		if own, ok := proc.Own(id); ok {
			list = append(list, own)
		}
	}
	return list
}

// removeZombies lets a borrowed thread wait for the children that have ended.
func (l *look) removeZombies(t *tracer.Thread) error {
	for _, child := range l.zombies {
		result, err := t.Syscall(l.returns, unix.SYS_WAIT4, uint64(child), 0, unix.WALL|unix.WNOHANG, 0)
		if err != nil {
			return fmt.Errorf("wait4: %w", err)
		}
		if result != int64(child) && result != -int64(unix.ECHILD) { // another heaplapse was faster
			return fmt.Errorf("wait4 returned %d", result)
		}
	}
	return nil
}
