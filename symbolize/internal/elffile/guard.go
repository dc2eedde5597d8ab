package elffile

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// errPanic is the error if a library panics.
	errPanic = errors.New("damaged")
	// errGone is the error if pages of the file no longer exist.
	errGone = errors.New("truncated while it was read: run this again")
)

// Guard calls work, which reads the file. It returns an error if work reads a page that no longer
// exists because the file was truncated, or if a library panics on malformed content.
func (f *File) Guard(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault in the mapped memory
			err = fmt.Errorf("%s: %w", f.Path, errGone)
		default:
			err = fmt.Errorf("%s: %w: %v", f.Path, errPanic, r)
		}
	}()
	return work()
}
