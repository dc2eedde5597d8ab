//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/attach"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/units"
)

// AttachOptions are the options of a recording of a process that runs. Of Options, the fields that
// are about starting a program are not used. With FollowChildren all descendants are recorded.
type AttachOptions struct {
	Options
	PID int
	// Wait makes Attach wait as long as it takes for a process that is stopped, traced, or has no safe
	// moment.
	Wait bool
	// Began is called when the process is recorded, with lines for the user. It may be nil.
	Began func(lines []string)
}

// safeMoment is the time in which a safe moment must come.
const safeMoment = 5 * time.Second

// attachment records processes that run.
type attachment struct {
	AttachOptions
	plan     *Plan
	sessions map[int]*attach.Session
	left     map[int]bool // processes that are not recorded, or not any more
	notes    []string
	restored int
}

// Attach records a process that runs until ctx is canceled, the duration is over, or the process has
// ended. The process runs on as if nothing had been.
func Attach(ctx context.Context, o AttachOptions) (Outcome, error) {
	plan, err := planAttach(&o)
	if err != nil {
		return Outcome{}, err
	}
	out, err := plan.prepareDir()
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: err}
	}
	a := &attachment{AttachOptions: o, plan: plan, sessions: map[int]*attach.Session{}, left: map[int]bool{}}
	w := plan.watchDir()
	defer w.Close()
	if err := a.begin(ctx); err != nil {
		return Outcome{}, errors.Join(withStatus(a.advise(err)), plan.cleanUp(out))
	}
	c := plan.collector(o.PID, out)
	go c.Run(w)
	a.wait(ctx)
	ended := a.stopAll()
	c.Stop()
	result := c.Leave(ended)
	result.Notes = append(a.notes, result.Notes...)
	return Outcome{Result: result, Dir: plan.Dir, Restored: a.restored}, nil
}

// planAttach returns the plan of a recording of a process.
func planAttach(o *AttachOptions) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	info, ok := proc.Read(o.PID)
	if !ok {
		return nil, withStatus(&attach.Refusal{Kind: attach.NotFound, Reason: fmt.Sprintf("there is no process %d", o.PID)})
	}
	o.Command = info.Command
	p := &Plan{
		Options: o.Options, Engine: builtin{}.name(), engine: builtin{}, attached: true,
		Target: program.Target{Path: info.Exe, Exe: info.Exe},
	}
	if err := p.chooseDir(); err != nil {
		return nil, err
	}
	p.setTimer()
	p.When = p.engine.when(&p.Options, false)
	p.Settings = builtin{}.settings(&p.Options, p.prefix, false)
	return p, nil
}

// begin attaches to the process, and to its descendants if they are wanted.
func (a *attachment) begin(ctx context.Context) error {
	if err := a.openDir(a.PID); err != nil {
		return err
	}
	s, err := a.attach(ctx, a.PID)
	if err != nil {
		return err
	}
	a.sessions[a.PID] = s
	if a.FollowChildren {
		a.attachNew(ctx)
	}
	if a.Began != nil {
		a.Began(a.describe(s))
	}
	return nil
}

// openDir makes the directory writable for the process, if it was made now.
func (a *attachment) openDir(pid int) error {
	dir := a.plan.dir()
	if !proc.SameFile(pid, dir) {
		return &attach.Refusal{
			Kind: attach.NoAccess, Reason: fmt.Sprintf("process %d cannot see %s, because it runs in a container", pid, a.plan.Dir),
			Remedy: "run heaplapse in the same container, or record into a directory that both see at the same path",
		}
	}
	if !proc.CanWrite(pid, dir) {
		proc.Give(pid, dir)
	}
	if !proc.CanWrite(pid, dir) {
		id, _ := proc.User(pid)
		return &attach.Refusal{
			Kind:   attach.NoAccess,
			Reason: fmt.Sprintf("process %d runs as %s, which cannot write to %s", pid, proc.UserName(id), a.plan.Dir),
			Remedy: fmt.Sprintf("record into a directory of that user (install -d -o %s DIR)", proc.UserName(id)),
		}
	}
	return nil
}

// attach begins to record a process. With Wait, it tries again while the process is busy.
func (a *attachment) attach(ctx context.Context, pid int) (*attach.Session, error) {
	const retry = 500 * time.Millisecond
	settings := fmt.Sprintf("number=%d %s", pid, a.plan.Settings[0].Value)
	o := attach.Options{PID: pid, Settings: settings, Patience: safeMoment}
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

// attachNew attaches to the descendants that are not recorded yet.
func (a *attachment) attachNew(ctx context.Context) {
	for _, pid := range proc.Descendants(a.PID) {
		if a.sessions[pid] != nil || a.left[pid] || ctx.Err() != nil {
			continue
		}
		err := a.openDir(pid)
		if err == nil {
			a.sessions[pid], err = a.attach(ctx, pid)
		}
		if err == nil {
			continue
		}
		delete(a.sessions, pid)
		if refusal := (*attach.Refusal)(nil); errors.As(err, &refusal) && refusal.Kind == attach.Busy {
			continue // try again
		}
		a.left[pid] = true
		if proc.Alive(pid) {
			a.notes = append(a.notes, fmt.Sprintf("not recorded: %v", err))
		}
	}
}

// wait returns when the recording is to end.
func (a *attachment) wait(ctx context.Context) {
	const childrenEvery, endEvery = time.Second, 100 * time.Millisecond
	var timeout, children <-chan time.Time
	if a.Duration > 0 {
		timeout = time.After(a.Duration)
	}
	if a.FollowChildren {
		ticker := time.NewTicker(childrenEvery)
		defer ticker.Stop()
		children = ticker.C
	}
	ends := time.NewTicker(endEvery)
	defer ends.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timeout:
			return
		case <-children:
			a.attachNew(ctx)
		case <-ends.C:
			if a.removeEnded(); len(a.sessions) == 0 {
				return
			}
		}
	}
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

// describe tells the user what is recorded.
func (a *attachment) describe(s *attach.Session) []string {
	of := fmt.Sprintf("process %d (%s)", a.PID, filepath.Base(a.plan.Target.Path))
	if n := len(a.sessions); n > 1 {
		of = fmt.Sprintf("%s and %s", of, units.CountOf(n-1, "descendant", "descendants"))
	}
	until := "until ^C"
	if a.Duration > 0 {
		until = "for " + a.Duration.String()
	}
	lines := []string{
		fmt.Sprintf("recording %s %s; one thread was stopped for %.1f ms", of, until, s.Pause.Seconds()*1000),
		fmt.Sprintf("snapshots %s go to %s", a.plan.When, a.plan.Dir),
	}
	return append(lines, a.coverage(s)...)
}

// coverage tells how many of the process's calls of malloc are seen, or nothing if it cannot be
// measured or the process does little.
func (a *attachment) coverage(s *attach.Session) []string {
	const duration, enough, good = 50 * time.Millisecond, 20, 0.95
	c, err := s.Coverage(duration)
	if err != nil || c.All < enough {
		return nil
	}
	share := float64(c.Seen) / float64(c.All)
	if share < good {
		a.plan.note("only %.0f %% of the calls of malloc are seen: the others are made through pointers that the "+
			"program took before; what they allocate is missing", math.Floor(100*share))
	}
	return []string{fmt.Sprintf("sees %.4g %% of the calls of malloc (%d of %d in %s)",
		100*share, c.Seen, c.All, duration)}
}

// advise adds the option that waits for a process that is busy.
func (a *attachment) advise(err error) error {
	refusal := (*attach.Refusal)(nil)
	if !errors.As(err, &refusal) || refusal.Kind != attach.Busy {
		return err
	}
	return fmt.Errorf("%w%s", err, a.Flags.If(option.Wait, " (%s waits for that)"))
}

// withStatus gives an error of package attach its exit status.
func withStatus(err error) error {
	refusal := (*attach.Refusal)(nil)
	code := status.Failed
	if errors.As(err, &refusal) {
		code = status.CannotRun
		if refusal.Kind == attach.NotFound {
			code = status.NotFound
		}
	}
	return &status.Error{Status: code, Err: err}
}

// Detach ends a recording that another heaplapse has begun, and returns the number of functions that
// were put back.
func Detach(pid int) (restored int, err error) {
	summary, err := attach.Detach(pid)
	if errors.Is(err, attach.ErrNotAttached) {
		return 0, status.Errorf(status.CannotRun, "process %d: %w", pid, err)
	}
	if err != nil {
		return 0, withStatus(err)
	}
	return summary.Restored - summary.Left, nil
}
