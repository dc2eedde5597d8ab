//go:build linux

package record

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/collect"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// NotRecorded is the error of Prepare, MakeDir and Run if the program cannot be recorded, for a
// reason that is not the program's or the command line's: the directory cannot be written, or the
// engine does not work on this machine. The program was not started. [Exec] runs it without a
// recording.
type NotRecorded struct {
	Err error
	// Stalled is set if the file system of the directory does not answer. A thread of this process
	// waits for it, and so would Exec: only [RunUnrecorded] runs the program.
	Stalled bool
	// Taken is set if the directory holds a recording. [RunUnrecorded] runs the program, so that
	// the user is told again when it has ended.
	Taken bool
}

func (e *NotRecorded) Error() string { return e.Err.Error() }

func (e *NotRecorded) Unwrap() error { return e.Err }

// notRecorded returns err as a [NotRecorded] with the exit status of a recorder that failed, or
// nil.
func notRecorded(err error) error {
	if err == nil {
		return nil
	}
	return &status.Error{Status: status.Failed, Err: &NotRecorded{Err: err}}
}

// CanRun reports whether a program can be run although err keeps it from being recorded.
func CanRun(err error) bool {
	var e *NotRecorded
	return errors.As(err, &e)
}

// CanExec reports whether [Exec] is to run the program although err keeps it from being recorded.
func CanExec(err error) bool {
	var e *NotRecorded
	return errors.As(err, &e) && !e.Stalled && !e.Taken
}

// Exec replaces this process by the program of the options, which runs as if it had been started
// without heaplapse. It opens no file that it needs, and returns only if the program cannot be run.
func Exec(o Options) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	path, err := program.Path(o.Command, o.Env)
	if err != nil {
		return err
	}
	sig.RestoreIgnored()
	err = unix.Exec(path, o.Command, o.Env)
	if errors.Is(err, unix.ENOEXEC) { // a script without an interpreter, as for execvp(3)
		shell, args := commandLine(program.Target{Path: path, Shell: true}, o.Command)
		err = unix.Exec(shell, args, o.Env)
	}
	code := status.CannotRun
	if errors.Is(err, os.ErrNotExist) {
		code = status.NotFound
	}
	return &status.Error{Status: code, Err: &os.PathError{Op: "exec", Path: path, Err: err}}
}

// RunUnrecorded runs the program without a recording, and ends it after Options.Duration. It
// returns an error of which [CanRun] is true if only [Exec] can run the program.
func RunUnrecorded(ctx context.Context, o Options) (Outcome, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	target, err := program.Find(o.Command, o.Env)
	if exhausted(err) {
		return Outcome{}, notRecorded(err)
	}
	if err != nil {
		return Outcome{}, err
	}
	p := &Plan{Options: o, Target: target}
	signals, stop := catchSignals()
	defer stop()
	child, err := p.start()
	if err != nil {
		return Outcome{}, err
	}
	catchIgnored(signals)
	r := runner{plan: p, child: child}
	end, err := r.wait(ctx, signals)
	if err != nil {
		return Outcome{}, &status.Error{Status: status.Failed, Err: err}
	}
	return Outcome{Result: resultOf(end.State)}, nil
}

// resultOf returns how a program that was not recorded has ended.
func resultOf(state *os.ProcessState) collect.Result {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return collect.Result{Status: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return collect.Result{Status: state.ExitCode()}
}

// exhausted reports whether err is about a resource of which [Exec] needs less than a recording:
// descriptors, processes, memory, or space for arguments and environment.
func exhausted(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.EAGAIN, unix.ENOMEM, unix.E2BIG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// commandLine returns the path and the arguments with which a program is started.
func commandLine(t program.Target, command []string) (path string, args []string) {
	if t.Shell {
		return "/bin/sh", append([]string{"sh", t.Path}, command[1:]...)
	}
	return t.Path, command
}
