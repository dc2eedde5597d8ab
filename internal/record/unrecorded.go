//go:build linux

package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// NotRecorded is the error of Prepare, MakeDir and Run if the program cannot be recorded, for a reason
// that is not the program's or the command line's: the directory cannot be written, or the engine does
// not work on this machine. The program was not started. [Exec] runs it without a recording.
type NotRecorded struct{ Err error }

func (e *NotRecorded) Error() string { return e.Err.Error() }

func (e *NotRecorded) Unwrap() error { return e.Err }

// notRecorded returns err as a [NotRecorded] with the exit status of a recorder that failed, or nil.
func notRecorded(err error) error {
	if err == nil {
		return nil
	}
	return &status.Error{Status: status.Failed, Err: &NotRecorded{err}}
}

// CanRun reports whether a program can be run although err keeps it from being recorded.
func CanRun(err error) bool {
	var e *NotRecorded
	return errors.As(err, &e)
}

// Exec replaces this process by the program of the options, which runs as if it had been started
// without heaplapse. It needs no file descriptor, and returns only if the program cannot be run.
func Exec(o Options) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	target, err := program.Find(o.Command, o.Env)
	if err != nil {
		return err
	}
	path, args := commandLine(target, o.Command)
	return &status.Error{Status: status.CannotRun, Err: &os.PathError{Op: "exec", Path: path, Err: unix.Exec(path, args, o.Env)}}
}

// commandLine returns the path and the arguments with which a program is started.
func commandLine(t program.Target, command []string) (path string, args []string) {
	if t.Shell {
		return "/bin/sh", append([]string{"sh", t.Path}, command[1:]...)
	}
	return t.Path, command
}
