//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/attach"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/container"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/running"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/units"
)

// AttachOptions are the options of a recording of a process that runs. Of Options, the fields that
// are about starting a program are not used.
type AttachOptions struct {
	Options
	// PID is the process, or 0 if Container is the name or the ID of a container, whose program is recorded.
	PID       int
	Container string
	// Wait makes Attach wait as long as it takes for a process that is stopped, traced, or has no safe
	// moment.
	Wait bool
	// Began is called when the process is recorded, with lines for the user. It may be nil.
	Began func(lines []string)
}

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
	out, w, err := plan.open(channel.Open)
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: err}
	}
	defer w.Close()
	a := &attachment{AttachOptions: o, plan: plan, sessions: map[int]*attach.Session{}, left: map[int]bool{}}
	look := plan.newLooks()
	if err := a.begin(ctx); err != nil {
		_ = plan.receiver.Close() // it fails for the same reason, or has nothing to tell
		return Outcome{}, errors.Join(withStatus(a.advise(err)), plan.cleanUp(out))
	}
	c := plan.collector(o.PID, out)
	go c.Run(w)
	look.Start(c)
	a.wait(ctx)
	if look != nil && len(a.sessions) > 0 {
		a.plan.tell("detaching, after a last look at what holds the memory")
	}
	look.Now(context.Background())
	ended := a.stopAll()
	if ended.IsZero() {
		a.plan.tell("detached: %s put back; completing the recording", units.Count(a.restored, "function"))
	} else {
		a.plan.tell("process %d has ended", a.PID)
	}
	look.End()
	c.Stop()
	result := c.Leave(ended)
	result.Notes = append(a.notes, result.Notes...)
	return Outcome{Result: result, Dir: plan.Dir, PID: a.PID, Restored: a.restored}, nil
}

// planAttach returns the plan of a recording of a process.
func planAttach(o *AttachOptions) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.choose(); err != nil {
		return nil, err
	}
	info, ok := proc.Read(o.PID)
	if !ok {
		return nil, withStatus(attach.NoProcess(o.PID))
	}
	if err := refuseRecorder(o.PID, info); err != nil {
		return nil, withStatus(err)
	}
	o.Command = info.Command
	p := &Plan{
		Options: o.Options, Engine: builtin{}.name(), engine: builtin{}, attached: true,
		Target: program.Target{Path: programPath(o.PID, info), Exe: info.Exe},
	}
	if err := p.chooseDir(); err != nil {
		return nil, err
	}
	p.setTimer()
	p.When = p.engine.when(&p.Options)
	alone := p.Options
	alone.Scope = MainOnly // a fork has no channel of its own: it is attached to
	p.Settings = builtin{}.settings(&alone)
	return p, nil
}

// programPath returns the path of the program by the name under which it was started: /usr/bin/redis-server may be a
// link to a program that has another name. It returns the name alone if the path may not be read.
func programPath(pid int, info proc.Info) string {
	var name string
	if len(info.Command) > 0 {
		name, _, _ = strings.Cut(info.Command[0], " ") // the process may have changed it
		name = filepath.Base(name)
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	called := strings.TrimSuffix(string(comm), "\n")
	if info.Exe == "" {
		return called
	}
	for _, n := range []string{name, called} {
		if path := filepath.Join(filepath.Dir(info.Exe), n); n != "" && atomicfile.SameFile(path, info.Exe) {
			return path
		}
	}
	return info.Exe
}

// choose sets the process of a container.
func (o *AttachOptions) choose() (err error) {
	if o.Container == "" {
		return nil
	}
	if o.PID, err = container.Program(o.Container); err != nil {
		return &status.Error{Status: status.NotFound, Err: err}
	}
	return nil
}

// refuseRecorder returns a refusal of a process of heaplapse, such as that of record, which a user may take for the
// program that it records. It returns nil for other processes.
func refuseRecorder(pid int, info proc.Info) error {
	if !running.IsHeaplapse(pid) {
		return nil
	}
	command := strings.Join(info.Command[:min(len(info.Command), 2)], " ")
	refusal := &attach.Refusal{Reason: fmt.Sprintf("process %d is heaplapse itself (%s)", pid, command)}
	for _, child := range proc.Descendants(pid) {
		if program, ok := recordedProgram(child); ok {
			refusal.Reason = fmt.Sprintf("process %d is heaplapse itself, which records process %d (%s)", pid, child, program)
			refusal.Remedy = "heaplapse growth DIR reads its snapshots while it runs"
			break
		}
	}
	return refusal
}

// recordedProgram returns the name of the program of a process, unless it only runs another one.
func recordedProgram(pid int) (name string, ok bool) {
	info, ok := proc.Read(pid)
	return filepath.Base(info.Exe), ok && info.Exe != "" && !program.IsWrapper(info.Exe)
}

// begin attaches to the process, and to those of its descendants that are in the scope.
func (a *attachment) begin(ctx context.Context) error {
	s, err := a.attach(ctx, a.PID)
	if err != nil {
		return err
	}
	a.sessions[a.PID] = s
	a.attachNew(ctx)
	if a.Began != nil {
		a.Began(a.describe(s))
	}
	return nil
}

// wait returns when the recording is to end.
func (a *attachment) wait(ctx context.Context) {
	const childrenEvery, endEvery = time.Second, 100 * time.Millisecond
	var timeout <-chan time.Time
	if a.Duration > 0 {
		timeout = time.After(a.Duration)
	}
	children := time.NewTicker(childrenEvery)
	defer children.Stop()
	ends := time.NewTicker(endEvery)
	defer ends.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timeout:
			return
		case <-children.C:
			a.attachNew(ctx)
		case <-ends.C:
			if a.removeEnded(); len(a.sessions) == 0 {
				return
			}
		}
	}
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
	if hint := languageHint(a.plan.Target.Exe, fmt.Sprintf("/proc/%d/exe", a.PID)); hint != "" {
		lines = append(lines, "hint: "+hint)
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
	return fmt.Errorf("%w (%s waits for that)", err, option.Wait)
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

// Detach ends a recording that another heaplapse has begun. The outcome has the number of functions that were put back.
func Detach(o AttachOptions) (Outcome, error) {
	if err := o.choose(); err != nil {
		return Outcome{}, err
	}
	summary, err := attach.Detach(o.PID)
	if errors.Is(err, attach.ErrNotAttached) {
		return Outcome{}, status.Errorf(status.CannotRun, "process %d: %w", o.PID, err)
	}
	if err != nil {
		return Outcome{}, withStatus(err)
	}
	return Outcome{PID: o.PID, Restored: summary.Restored - summary.Left}, nil
}
