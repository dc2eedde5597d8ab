package elffile

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is the error if a library panics, or if pages of the file no longer exist.
var errPanic = errors.New("damaged, or truncated while it was read")

// Guard calls work, which reads the file. It returns an error if work reads a page that no longer
// exists because the file was truncated, or if a library panics on malformed content.
func (f *File) Guard(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w: %v", f.Path, errPanic, r)
		}
	}()
	return work()
}
