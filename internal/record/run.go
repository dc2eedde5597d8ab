//go:build linux

package record

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Run runs the program and returns when it has ended. An *Error says that it was not run. When ctx ends, the program is
// ended as by SIGTERM.
func (p *Plan) Run(ctx context.Context) (Outcome, error) {
	out, err := p.prepareDir()
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: err}
	}
	c := newCollector(p, out)
	w, err := watch(c.dir)
	if err != nil {
		p.note("the directory is polled: %v", err)
	}
	defer w.close()
	for _, s := range sig.InheritedIgnored() {
		signal.Ignore(s) // so that the program inherits it
	}
	signals := make(chan os.Signal, 64)
	if list := sig.Forwarded(); len(list) > 0 {
		signal.Notify(signals, list...)
		defer signal.Stop(signals)
		sig.NoteSenders(unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH)
	}
	child, err := p.start()
	if err != nil {
		return Outcome{}, errors.Join(err, p.abandon(out))
	}
	c.root = child.Pid
	go c.run(w)
	r := runner{plan: p, c: c, child: child}
	state, ended, err := r.wait(ctx, signals)
	c.stop()
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: errors.Join(err, out.Close())}
	}
	return c.finish(state, ended), nil
}

// prepareDir makes the directory, with the agent and the head of the sidecar in it.
func (p *Plan) prepareDir() (*manifest.Writer, error) {
	dir := filepath.Dir(p.prefix)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if p.agent {
		if err := writeAgent(agentPath(dir), agent.For(p.Target.ABI().Machine)); err != nil {
			return nil, err
		}
	}
	out, err := manifest.Create(dir)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	settings := map[string]string{}
	for _, s := range p.Settings {
		settings[s.Name] = s.Value
	}
	if err := out.Recording(manifest.Recording{
		Started: time.Now().UTC(), Recorder: p.Recorder, Host: host, Command: p.Command, Engine: p.Engine, Library: p.Library.Path,
		Version: p.Library.Version, Sampling: p.engine.period(&p.Options), Settings: settings,
	}); err != nil {
		return out, err
	}
	return out, keepVDSO(dir, out)
}

// abandon removes what was prepared for a program that could not be started.
func (p *Plan) abandon(out *manifest.Writer) error {
	err := out.Close()
	dir := filepath.Dir(p.prefix)
	_ = os.Remove(filepath.Join(dir, manifest.Name))
	_ = os.Remove(filepath.Join(dir, agent.Name))
	_ = os.Remove(filepath.Join(dir, manifest.VDSOFile))
	_ = os.Remove(dir) // only if it is empty
	return err
}

// start runs the program with the same standard streams, directory, process group and signal mask.
func (p *Plan) start() (*os.Process, error) {
	path, args := p.Target.Path, p.Command
	if p.Target.Shell {
		path, args = "/bin/sh", append([]string{"sh", p.Target.Path}, p.Command[1:]...)
	}
	child, err := os.StartProcess(path, args, &os.ProcAttr{
		Env:   p.Environment(),
		Files: []*os.File{cmp.Or(p.Stdin, os.Stdin), cmp.Or(p.Stdout, os.Stdout), cmp.Or(p.Stderr, os.Stderr)},
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, &status.Error{Status: status.NotFound, Err: err}
	}
	if err != nil {
		return nil, &status.Error{Status: status.CannotRun, Err: err}
	}
	return child, nil
}

// runner waits for the program, and passes on what is for it.
type runner struct {
	plan   *Plan
	c      *collector
	child  *os.Process
	dumped bool
}

type exit struct {
	state *os.ProcessState
	err   error
}

func (r *runner) wait(ctx context.Context, signals <-chan os.Signal) (*os.ProcessState, time.Time, error) {
	exited := make(chan exit, 1)
	go func() {
		state, err := r.child.Wait()
		exited <- exit{state, err}
	}()
	var over <-chan time.Time
	if r.plan.Duration > 0 {
		over = time.After(r.plan.Duration)
	}
	cancelled := ctx.Done()
	for {
		select {
		case e := <-exited:
			return e.state, time.Now(), e.err
		case s := <-signals:
			r.pass(s)
		case <-over:
			r.plan.note("--duration %s is over: the program gets SIGTERM", r.plan.Duration)
			r.pass(unix.SIGTERM)
		case <-cancelled:
			cancelled = nil
			r.pass(unix.SIGTERM)
		}
	}
}

// pass gives the program a signal, after a last snapshot if it is one that ends programs.
func (r *runner) pass(s os.Signal) {
	if sig.SentByTerminal(s) {
		return // and the agent takes a last snapshot
	}
	if s == unix.SIGCONT && !proc.Stopped(r.child.Pid) {
		return // fg(1) has sent it to the whole group
	}
	if s == unix.SIGTERM || s == unix.SIGINT {
		r.lastDump()
	}
	_ = r.child.Signal(s)
}

const (
	dumpWait  = 3 * time.Second        // a program waits no longer for its signal
	dumpRetry = 300 * time.Millisecond // a request is dropped while the profiler is busy
	dumpPoll  = 10 * time.Millisecond
)

// lastDump asks the processes that are recorded for a snapshot, once, and waits for it.
func (r *runner) lastDump() {
	number := r.plan.engine.dumpSignal(&r.plan.Options, r.plan.agent)
	if number == 0 || r.dumped {
		return
	}
	r.dumped = true
	waiting := r.ask(nil, number)
	deadline, retry := time.Now().Add(dumpWait), time.Now().Add(dumpRetry)
	for len(waiting) > 0 && time.Now().Before(deadline) {
		time.Sleep(dumpPoll)
		waiting = r.stillWaiting(waiting)
		if time.Now().After(retry) {
			waiting, retry = r.ask(waiting, number), time.Now().Add(dumpRetry)
		}
	}
}

// ask sends the signal to processes, nil for all that write snapshots, and returns how many each has written so far.
func (r *runner) ask(only map[int]int, number int) map[int]int {
	waiting := map[int]int{}
	r.c.do(func() {
		for pid, p := range r.c.procs {
			_, again := only[pid]
			if (only != nil && !again) || !p.wanted || !p.known || p.ended || !proc.Catches(pid, number) {
				continue
			}
			r.c.asked[pid] = true
			if unix.Kill(pid, syscall.Signal(number)) == nil {
				waiting[pid] = p.snapshots
			}
		}
	})
	return waiting
}

func (r *runner) stillWaiting(waiting map[int]int) map[int]int {
	left := map[int]int{}
	r.c.do(func() {
		for pid, before := range waiting {
			if p := r.c.procs[pid]; p.snapshots == before && proc.Alive(pid) {
				left[pid] = before
			}
		}
	})
	return left
}
