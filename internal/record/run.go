//go:build linux

package record

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/collect"
	"github.com/heaplapse/heaplapse/internal/record/looks"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Run runs the program and returns when it has ended. It returns a [status.Error] if the program
// could not be run. If ctx is canceled, Run sends SIGTERM to the program.
func (p *Plan) Run(ctx context.Context) (Outcome, error) {
	out, w, err := p.open(channel.Listen)
	if err != nil {
		return Outcome{}, notRecorded(err)
	}
	defer w.Close()
	signals, stop := catchSignals()
	defer stop()
	look := p.newLooks()
	child, err := p.start()
	if err != nil {
		return Outcome{}, errors.Join(err, p.receiver.Close(), p.cleanUp(out))
	}
	catchIgnored(signals)
	c := p.collector(child.Pid, out)
	go c.Run(w)
	if !proc.CanAwaitEnd(child.Pid) {
		look = nil // before Linux 5.3 the stops of the child would look like its end
	}
	look.Start(c)
	r := runner{plan: p, c: c, child: child, looks: look}
	end, err := r.wait(ctx, signals)
	r.looks.End()
	c.Stop()
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: errors.Join(err, out.Close())}
	}
	return Outcome{Result: c.Finish(end), Dir: p.Dir}, nil
}

// catchSignals returns the signals to forward to the program. Those that were ignored when this
// process started are ignored until the program, which inherits that, has started: see
// catchIgnored.
func catchSignals() (signals chan os.Signal, stop func()) {
	for _, s := range sig.InheritedIgnored() {
		signal.Ignore(s)
	}
	ignored := sig.Forwarded(signal.Ignored)
	signals = make(chan os.Signal, 64)
	catch(signals, sig.Forwarded(func(s os.Signal) bool { return !signal.Ignored(s) }))
	return signals, func() {
		signal.Stop(signals)
		if len(ignored) > 0 {
			signal.Ignore(ignored...)
		}
	}
}

// catchIgnored also forwards the signals that are ignored: the program may have set a handler, as a
// program does that a shell without job control has started in the background, where SIGINT is
// ignored.
func catchIgnored(signals chan os.Signal) { catch(signals, sig.Forwarded(signal.Ignored)) }

func catch(signals chan os.Signal, list []os.Signal) {
	if len(list) > 0 { // else Notify would catch all
		signal.Notify(signals, list...)
		sig.NoteSenders(unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH)
	}
}

// start starts the program with the working directory, process group and signal mask of this
// process.
func (p *Plan) start() (*os.Process, error) {
	path, args := commandLine(p.Target, p.Command)
	child, err := os.StartProcess(path, args, &os.ProcAttr{
		Env:   p.Environment(),
		Files: []*os.File{cmp.Or(p.Stdin, os.Stdin), cmp.Or(p.Stdout, os.Stdout), cmp.Or(p.Stderr, os.Stderr)},
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, &status.Error{Status: status.NotFound, Err: err}
	}
	if exhausted(err) {
		return nil, notRecorded(err)
	}
	if err != nil {
		return nil, &status.Error{Status: status.CannotRun, Err: err}
	}
	return child, nil
}

// runner waits for the program and forwards signals to it.
type runner struct {
	plan      *Plan
	c         *collect.Collector // nil if the program is not recorded
	child     *os.Process
	looks     *looks.Looks // nil if there are none
	requested bool         // a last snapshot was requested
	ending    bool         // a signal that ends programs was sent or passed on
	asked     time.Time    // when this process did so first
}

type exit struct {
	collect.Exit
	err error
}

// wait returns how the program ended.
func (r *runner) wait(ctx context.Context, signals <-chan os.Signal) (collect.Exit, error) {
	exited := make(chan exit, 1)
	go func() {
		cpu := proc.CPUAtEnd(r.child.Pid)
		state, err := r.child.Wait()
		exited <- exit{collect.Exit{State: state, Time: time.Now(), CPU: cpu}, err}
	}()
	const patience = 10 * time.Second
	var timeout, late <-chan time.Time
	if r.plan.Duration > 0 {
		timeout = time.After(r.plan.Duration)
	}
	canceled := ctx.Done()
	for {
		select {
		case e := <-exited:
			e.Requested, e.Asked = r.ending, r.asked
			return e.Exit, e.err
		case s := <-signals:
			r.forward(s)
		case <-timeout:
			r.plan.tell("%s %s is over: the program is ended with SIGTERM; unless it handles that, the exit status is 143",
				option.Duration, r.plan.Duration)
			r.forward(unix.SIGTERM)
			late = time.After(patience)
		case <-late:
			r.plan.tell("the program still runs %s after SIGTERM, and is waited for: kill -KILL %d ends it", patience, r.child.Pid)
		case <-canceled:
			canceled = nil
			r.forward(unix.SIGTERM)
		}
	}
}

// endWithin is the time for which a signal that ends programs is kept back, whatever a disk does.
const endWithin = 2 * time.Second

// forward sends a signal to the program. Before a signal that ends programs by default, it requests
// a last snapshot.
func (r *runner) forward(s os.Signal) {
	if sig.SentByTerminal(s) {
		r.ending = r.ending || s == unix.SIGINT
		return // the program has it; the engine takes a last snapshot
	}
	if s == unix.SIGCONT && !proc.Stopped(r.child.Pid) {
		return // the shell's fg has sent it to the whole process group
	}
	if s == unix.SIGTERM || s == unix.SIGINT {
		r.ending = true
		soon, cancel := context.WithTimeout(context.Background(), endWithin)
		r.requestSnapshots()
		r.looks.Now(soon)
		cancel()
		if r.asked.IsZero() {
			r.asked = time.Now()
		}
	}
	_ = r.child.Signal(s)
}

// requestSnapshots makes the recorded processes take a last snapshot and waits until they have. It
// works once.
func (r *runner) requestSnapshots() {
	if r.c == nil {
		return
	}
	number := r.plan.engine.dumpSignal(&r.plan.Options)
	if number == 0 || r.requested {
		return
	}
	r.requested = true
	r.c.RequestLast(number)
}
