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
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Run runs the program and returns when it has ended. It returns a [status.Error] if the program
// could not be run. If ctx is canceled, Run sends SIGTERM to the program.
func (p *Plan) Run(ctx context.Context) (Outcome, error) {
	out, err := p.prepareDir()
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: err}
	}
	c := newCollector(p, out)
	w, err := watch(c.dir)
	if err != nil {
		p.note("no file events, polling the directory instead: %v", err)
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
		return Outcome{}, errors.Join(err, p.cleanUp(out))
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

// prepareDir creates the directory, the manifest with its first records, and the copy of the vDSO.
func (p *Plan) prepareDir() (*manifest.Writer, error) {
	if err := p.MakeDir(); err != nil {
		return nil, err
	}
	dir := filepath.Dir(p.prefix)
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
		Started: time.Now().UTC(), Recorder: p.Recorder, Host: host, Command: p.Command,
		Engine: p.Engine, Library: p.Library.Path, Version: p.Library.Version,
		Sampling: p.engine.period(&p.Options), Settings: settings,
	}); err != nil {
		return out, err
	}
	return out, keepVDSO(dir, out)
}

// cleanUp removes the files of prepareDir if the program could not be started.
func (p *Plan) cleanUp(out *manifest.Writer) error {
	err := out.Close()
	dir := filepath.Dir(p.prefix)
	_ = os.Remove(filepath.Join(dir, manifest.Name))
	_ = os.Remove(filepath.Join(dir, manifest.VDSOFile))
	_ = os.Remove(dir) // only if it is empty
	return err
}

// start starts the program with the working directory, process group and signal mask of this
// process.
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

// runner waits for the program and forwards signals to it.
type runner struct {
	plan      *Plan
	c         *collector
	child     *os.Process
	requested bool // requestSnapshots was called
}

type exit struct {
	state *os.ProcessState
	err   error
}

// wait returns the state of the program and the time when it ended.
func (r *runner) wait(ctx context.Context, signals <-chan os.Signal) (*os.ProcessState, time.Time, error) {
	exited := make(chan exit, 1)
	go func() {
		state, err := r.child.Wait()
		exited <- exit{state, err}
	}()
	var timeout <-chan time.Time
	if r.plan.Duration > 0 {
		timeout = time.After(r.plan.Duration)
	}
	canceled := ctx.Done()
	for {
		select {
		case e := <-exited:
			return e.state, time.Now(), e.err
		case s := <-signals:
			r.forward(s)
		case <-timeout:
			r.plan.note("%s %s is over: sending SIGTERM to the program", r.plan.Flags.Of(option.Duration), r.plan.Duration)
			r.forward(unix.SIGTERM)
		case <-canceled:
			canceled = nil
			r.forward(unix.SIGTERM)
		}
	}
}

// forward sends a signal to the program. Before a signal that ends programs by default, it requests
// a last snapshot.
func (r *runner) forward(s os.Signal) {
	if sig.SentByTerminal(s) {
		return // the program has it; the agent takes a last snapshot
	}
	if s == unix.SIGCONT && !proc.Stopped(r.child.Pid) {
		return // the shell's fg has sent it to the whole process group
	}
	if s == unix.SIGTERM || s == unix.SIGINT {
		r.requestSnapshots()
	}
	_ = r.child.Signal(s)
}

const (
	dumpWait  = 3 * time.Second        // maximum delay of the signal
	dumpRetry = 300 * time.Millisecond // the profiler ignores a request while it is busy
	dumpPoll  = 10 * time.Millisecond
)

// requestSnapshots makes the recorded processes take a last snapshot and waits until they have. It
// works once.
func (r *runner) requestSnapshots() {
	number := r.plan.engine.dumpSignal(&r.plan.Options, r.plan.agent)
	if number == 0 || r.requested {
		return
	}
	r.requested = true
	waiting := r.request(nil, number)
	deadline, retry := time.Now().Add(dumpWait), time.Now().Add(dumpRetry)
	for len(waiting) > 0 && time.Now().Before(deadline) {
		time.Sleep(dumpPoll)
		waiting = r.stillWaiting(waiting)
		if time.Now().After(retry) {
			waiting, retry = r.request(waiting, number), time.Now().Add(dumpRetry)
		}
	}
}

// request sends the signal to the processes in only, or to all that write snapshots if only is nil.
// It returns the number of snapshots that each of them has written so far.
func (r *runner) request(only map[int]int, number int) map[int]int {
	waiting := map[int]int{}
	r.c.do(func() {
		for pid, p := range r.c.procs {
			_, again := only[pid]
			if (only != nil && !again) || !p.recorded || !p.known || p.ended || !proc.Catches(pid, number) {
				continue
			}
			r.c.requested[pid] = true
			if unix.Kill(pid, syscall.Signal(number)) == nil {
				waiting[pid] = p.snapshots
			}
		}
	})
	return waiting
}

// stillWaiting returns those processes that live and have not written a snapshot since the request.
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
