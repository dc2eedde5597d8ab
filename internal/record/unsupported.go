//go:build !linux

package record

import (
	"context"
	"runtime"

	"github.com/heaplapse/heaplapse/internal/record/status"
)

type engine interface{}

// Prepare returns an error: recording requires Linux.
func Prepare(Options) (*Plan, error) {
	return nil, status.Errorf(status.Failed,
		"record requires Linux, this is %s: record on Linux, and read the directory here", runtime.GOOS)
}

// CanRun returns false: recording requires Linux.
func CanRun(error) bool { return false }

// CanExec returns false: recording requires Linux.
func CanExec(error) bool { return false }

// RunUnrecorded returns an error: recording requires Linux.
func RunUnrecorded(_ context.Context, o Options) (Outcome, error) {
	_, err := Prepare(o)
	return Outcome{}, err
}

// Exec returns an error: recording requires Linux.
func Exec(o Options) error {
	_, err := Prepare(o)
	return err
}

// AttachOptions are the options of a recording of a process that runs.
type AttachOptions struct {
	Options
	PID       int
	Container string
	Wait      bool
	Began     func(lines []string)
}

// Attach returns an error: recording requires Linux.
func Attach(context.Context, AttachOptions) (Outcome, error) {
	_, err := Prepare(Options{})
	return Outcome{}, err
}

// Detach returns an error: recording requires Linux.
func Detach(AttachOptions) (Outcome, error) {
	_, err := Prepare(Options{})
	return Outcome{}, err
}

// MakeDir returns an error: recording requires Linux.
func (p *Plan) MakeDir() error {
	_, err := Prepare(p.Options)
	return err
}

// Run returns an error: recording requires Linux.
func (p *Plan) Run(context.Context) (Outcome, error) {
	_, err := Prepare(p.Options)
	return Outcome{}, err
}
