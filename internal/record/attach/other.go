//go:build !(linux && amd64)

package attach

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Session is a recording of a process.
type Session struct{ Started }

func unsupported() error {
	return &Refusal{
		Kind:   Unsupported,
		Reason: fmt.Sprintf("attach supports Linux on x86-64, this is %s/%s", runtime.GOOS, runtime.GOARCH),
		Remedy: "use heaplapse record",
	}
}

// Start returns a Refusal: attaching requires Linux on x86-64.
func Start(context.Context, Options) (*Session, error) { return nil, unsupported() }

// Detach returns a Refusal.
func Detach(int) (Summary, error) { return Summary{}, unsupported() }

// Ended returns nil.
func (s *Session) Ended() <-chan struct{} { return nil }

// Snapshot returns a Refusal.
func (s *Session) Snapshot() error { return unsupported() }

// Coverage returns a Refusal.
func (s *Session) Coverage(time.Duration) (Coverage, error) { return Coverage{}, unsupported() }

// Stop returns a Refusal.
func (s *Session) Stop() (Summary, error) { return Summary{}, unsupported() }
