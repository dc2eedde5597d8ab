//go:build linux

package record

import (
	"errors"
	"fmt"
	"syscall"
)

// tooLow is a limit that keeps every engine from recording.
type tooLow struct {
	limit  error
	remedy string
}

func (e *tooLow) Error() string { return fmt.Sprintf("%v: %s", e.limit, e.remedy) }

func (e *tooLow) Unwrap() error { return e.limit }

// explainLimit returns err, or only the limit and the remedy if a limit is the reason.
func explainLimit(err error) error {
	for _, l := range []tooLow{
		{syscall.EMFILE, "raise the limit of open files (ulimit -n)"},
		{syscall.EFBIG, "raise the limit of file sizes (ulimit -f)"},
	} {
		if errors.Is(err, l.limit) {
			return notRecorded(&l)
		}
	}
	return err
}
