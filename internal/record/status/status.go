package status

import (
	"fmt"
)

// Exit statuses of a recorder that could not do its work, those of env(1) and timeout(1).
const (
	Failed    = 125 // the recorder itself
	CannotRun = 126 // the program is there and cannot be run
	NotFound  = 127
)

// Error is why the program was not run.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func Errorf(status int, format string, args ...any) error {
	return &Error{status, fmt.Errorf(format, args...)}
}
