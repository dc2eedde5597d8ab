//go:build !linux

package record

import (
	"context"
	"runtime"

	"github.com/heaplapse/heaplapse/internal/record/status"
)

type engine interface{}

// Prepare needs Linux.
func Prepare(Options) (*Plan, error) {
	return nil, status.Errorf(status.Failed, "record works on Linux only, this is %s: record there, and read the directory here", runtime.GOOS)
}

// Run needs Linux.
func (p *Plan) Run(context.Context) (Outcome, error) {
	_, err := Prepare(p.Options)
	return Outcome{}, err
}
