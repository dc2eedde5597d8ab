// Package status defines the exit statuses and errors of a recording that could not be started.
package status

import "fmt"

// Exit statuses, as env(1) and timeout(1) define them.
const (
	Failed    = 125 // the recorder failed
	CannotRun = 126 // the program exists but cannot be run
	NotFound  = 127 // the program does not exist
)

// Error is an error with the exit status to use.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a formatted message. It supports %w.
func Errorf(status int, format string, args ...any) error {
	return &Error{status, fmt.Errorf(format, args...)}
}
