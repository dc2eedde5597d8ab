//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/attach"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/units"
)

// safeMoment is the time in which a safe moment must come.
const safeMoment = 5 * time.Second

// attach begins to record a process. With Wait, it tries again while the process is busy.
func (a *attachment) attach(ctx context.Context, pid int) (*attach.Session, error) {
	const retry = 500 * time.Millisecond
	o := attach.Options{
		PID: pid, Settings: a.plan.Settings[0].Value, Adopt: a.plan.receiver.Adopt, Patience: safeMoment,
	}
	for told := false; ; {
		s, err := attach.Start(ctx, o)
		var refusal *attach.Refusal
		if !a.Wait || !errors.As(err, &refusal) || refusal.Kind != attach.Busy {
			return s, err
		}
		if !told {
			told = true
			a.plan.note("%s; waiting for it", refusal.Reason)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retry):
		}
	}
}

// attachNew attaches to the descendants in the scope that are not recorded yet.
func (a *attachment) attachNew(ctx context.Context) {
	if a.Scope == MainOnly {
		return
	}
	for _, pid := range proc.Descendants(a.PID) {
		if a.sessions[pid] != nil || a.left[pid] || ctx.Err() != nil || !a.isDue(pid) {
			continue
		}
		s, err := a.attach(ctx, pid)
		if err == nil {
			a.sessions[pid] = s
			continue
		}
		if refusal := (*attach.Refusal)(nil); errors.As(err, &refusal) && refusal.Kind == attach.Busy {
			continue // try again
		}
		a.left[pid] = true
		if proc.Alive(pid) {
			a.notes = append(a.notes, fmt.Sprintf("not recorded: %v", err))
		}
	}
}

// isDue reports whether a descendant is to be recorded. A fork may be about to start another
// program or to end within a second.
func (a *attachment) isDue(pid int) bool {
	const young = time.Second
	p, ok := proc.Read(pid)
	return ok && (a.Scope == All || time.Since(p.Started) >= young && a.Scope.Includes(a.PID, pid))
}

// removeEnded drops the sessions that have ended by themselves.
func (a *attachment) removeEnded() {
	for _, pid := range a.pids() {
		select {
		case <-a.sessions[pid].Ended():
			a.stop(pid)
		default:
		}
	}
}

func (a *attachment) pids() (pids []int) {
	for pid := range a.sessions {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// stop ends the recording of a process.
func (a *attachment) stop(pid int) {
	summary, err := a.sessions[pid].Stop()
	delete(a.sessions, pid)
	a.left[pid] = true
	a.restored += summary.Restored - summary.Left
	switch {
	case errors.Is(err, attach.ErrEnded):
	case err != nil:
		a.notes = append(a.notes, fmt.Sprintf("process %d: %v", pid, err))
	case summary.Left > 0:
		a.notes = append(a.notes, fmt.Sprintf("process %d: %s could not be put back; they record nothing, and do no harm",
			pid, units.Count(summary.Left, "function")))
	case summary.PythonLeft:
		a.notes = append(a.notes, fmt.Sprintf("process %d: another tool, such as tracemalloc, has replaced CPython's "+
			"allocator since; heaplapse's functions stay below it, record nothing, and do no harm", pid))
	}
	if err == nil && summary.Ended == attach.EndedByProgram {
		a.notes = append(a.notes, fmt.Sprintf("process %d restricts its system calls (seccomp) now: the recording has ended", pid))
	}
	if err == nil && summary.Ended == attach.EndedAlone {
		a.notes = append(a.notes, fmt.Sprintf("process %d has ended the recording, because heaplapse did not respond for 20 s", pid))
	}
}

// stopAll ends the recording of all processes. It returns the time when the process had ended, or
// zero if it runs on.
func (a *attachment) stopAll() time.Time {
	alive := proc.Alive(a.PID)
	for _, pid := range a.pids() {
		a.stop(pid)
	}
	if alive {
		return time.Time{}
	}
	return time.Now()
}
