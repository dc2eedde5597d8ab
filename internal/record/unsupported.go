//go:build !linux

package record

import (
	"context"
	"runtime"
)

type engine interface{}

// Target is the program to be recorded.
type Target struct{ Path string }

// Prepare needs Linux.
func Prepare(Options) (*Plan, error) {
	return nil, fail(StatusFailed, "record works on Linux only, this is %s: record there, and read the directory here", runtime.GOOS)
}

// Run needs Linux.
func (p *Plan) Run(context.Context) (Outcome, error) {
	_, err := Prepare(p.Options)
	return Outcome{}, err
}

// Die needs Linux.
func Die(int) {}
