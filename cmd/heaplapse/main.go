// Command heaplapse reports what grows in a native heap.
//
// This package parses flags, calls the packages that do the work, prints their results and
// warnings, and decides the exit status. No other package knows cobra, names of flags or exit
// statuses.
package main

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/completion"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/settings"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/interrupt"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFound   = 1 // a check found a leak (--fail-on) or a regression (gate)
	exitFailure = 2 // usage error, unreadable input, or no verdict although one was required
)

// app is one invocation of the program.
type app struct {
	console.Console
	status     int // the exit status, unless the command fails
	configFile string
	settings   settings.File
	signals    interrupt.Handler
}

// init keeps the main thread for main, which only waits. The kernel gives signals to the main
// thread: if that waited for a disk that does not answer, record could not forward them to the
// program.
func init() { runtime.LockOSThread() }

func main() {
	a := &app{}
	out := &output.Stdout{Guarded: a.signals.Guard(os.Stdout)}
	a.In, a.Out, a.Err = os.Stdin, out, a.signals.Guard(os.Stderr)
	run := func(ctx context.Context) int { return a.run(ctx, os.Args[1:]) }
	os.Exit(a.signals.Supervise(run, atomicfile.RemoveUnfinished))
}

// run runs a command and returns its exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	if completion.Wanted(args) {
		completion.AddTo(root)
	}
	err := root.ExecuteContext(ctx)
	if out, ok := a.Out.(*output.Stdout); ok && err == nil {
		err = out.Err()
	}
	if err != nil {
		a.Complain(err)
		var notRun *status.Error
		if errors.As(err, &notRun) {
			return notRun.Status
		}
		return exitFailure
	}
	if a.Failed {
		return exitFailure
	}
	return a.status
}
